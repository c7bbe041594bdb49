/** npm run sim:mutants: each deliberate error must be caught, and here is how soon. */
import { run } from '../run.ts'
import { mutants } from './index.ts'

const seedsMax = 300

const only = process.argv[2]
let missed = 0
for (const mutant of mutants) {
  if (only !== undefined && !mutant.name.includes(only)) continue
  let caught: string | undefined
  let seed = 0
  while (caught === undefined && seed < seedsMax) {
    seed++
    caught = (await run({ seed, mutant })).violations[0]
  }
  if (caught === undefined) missed++
  const verdict = caught === undefined ? `MISSED in ${seed} seeds` : `caught by seed ${seed}`
  console.log(`${mutant.name}: ${verdict}`)
  if (caught !== undefined) console.log(`    ${caught.split('\n')[0]!.slice(0, 160)}`)
}
console.log(missed === 0 ? 'every mutant was caught' : `${missed} mutants were missed`)
process.exitCode = missed === 0 ? 0 : 1
