/** npm run sim:mutants: each deliberate error must be caught, and here is how soon. */
import { runPrograms } from '../programs/run-programs.ts'
import { run } from '../run.ts'
import { mutants, programMutants, rareMutants } from './index.ts'
import { isVoid } from './verdict.ts'

const seedsMax = 300

const only = process.argv[2]
let missed = 0
const trials = [
  ...[...mutants, ...rareMutants].map((mutant) => {
    return { name: mutant.name, violated: (seed: number) => run({ seed, mutant }) }
  }),
  ...programMutants.map((mutant) => {
    return { name: mutant.name, violated: (seed: number) => runPrograms({ seed, mutant }) }
  }),
]
for (const { name, violated } of trials) {
  if (only !== undefined && !name.includes(only)) continue
  let caught: string | undefined
  let seed = 0
  while (caught === undefined && seed < seedsMax) {
    seed++
    caught = (await violated(seed)).violations[0]
  }
  if (caught === undefined || isVoid(caught)) missed++
  console.log(`${name}: ${verdictOn(caught, seed)}`)
  if (caught !== undefined) console.log(`    ${caught.split('\n')[0]!.slice(0, 160)}`)
}
console.log(missed === 0 ? 'every mutant was caught' : `${missed} mutants were missed`)
process.exitCode = missed === 0 ? 0 : 1

function verdictOn(caught: string | undefined, seed: number): string {
  if (caught === undefined) return `MISSED in ${seed} seeds`
  return isVoid(caught) ? 'VOID, it fails by itself' : `caught by seed ${seed}`
}
