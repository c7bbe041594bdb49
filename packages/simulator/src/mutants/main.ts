/** npm run sim:mutants: each deliberate error must be caught; prints how soon. */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { bundle } from '../bundle.ts'
import { runPrograms } from '../programs/run-programs.ts'
import { run, type RunResult } from '../run.ts'
import { mutants, programMutants, rareMutants } from './index.ts'
import { isVoid } from './verdict.ts'

const seedsMax = 300

interface Trial {
  readonly name: string
  readonly violated: (seed: number) => Promise<RunResult>
}

interface Verdict {
  readonly trial: number
  readonly seed: number
  readonly caught: string | undefined
}

const trials: readonly Trial[] = [
  ...[...mutants, ...rareMutants].map((mutant) => {
    return { name: mutant.name, violated: (seed: number) => run({ seed, mutant }) }
  }),
  ...programMutants.map((mutant) => {
    return { name: mutant.name, violated: (seed: number) => runPrograms({ seed, mutant }) }
  }),
]

/** The worker: runs the trials that its parent requests. */
function work(): void {
  process.on('message', (trial: number) => {
    void (async () => {
      let caught: string | undefined
      let seed = 0
      while (caught === undefined && seed < seedsMax) {
        seed++
        caught = (await trials[trial]!.violated(seed)).violations[0]
      }
      process.send?.({ trial, seed, caught } satisfies Verdict)
    })()
  })
}

function show({ trial, seed, caught }: Verdict): void {
  const verdict =
    caught === undefined
      ? `MISSED in ${seed} seeds`
      : isVoid(caught)
        ? 'VOID, it fails by itself'
        : `caught by seed ${seed}`
  console.log(`${trials[trial]!.name}: ${verdict}`)
  if (caught !== undefined) console.log(`    ${caught.split('\n')[0]!.slice(0, 160)}`)
}

async function tryAll(wanted: number[]): Promise<Verdict[]> {
  const program = await bundle('mutants/main.ts')
  const verdicts: Verdict[] = []
  const workers = Math.min(availableParallelism(), wanted.length)
  try {
    await Promise.all(
      Array.from(
        { length: workers },
        () =>
          new Promise<void>((resolve, reject) => {
            const child = fork(program.path, ['--worker'], { execArgv: ['--enable-source-maps'] })
            const next = (): void => {
              const trial = wanted.shift()
              if (trial === undefined) child.disconnect()
              else child.send(trial)
            }
            child.on('message', (verdict: Verdict) => {
              verdicts.push(verdict)
              show(verdict)
              next()
            })
            child.on('error', reject)
            child.on('exit', (code, signal) => {
              if (code === 0) resolve()
              else reject(new Error(`a worker ended with ${code ?? signal}`))
            })
            next()
          }),
      ),
    )
  } finally {
    program.remove()
  }
  return verdicts
}

if (process.argv[2] === '--worker') {
  work()
} else {
  const [only = '', ...more] = process.argv.slice(2)
  const wanted = [...trials.keys()].filter((i) => trials[i]!.name.includes(only))
  if (wanted.length === 0 || more.length > 0) {
    console.error(
      `usage: npm run sim:mutants -- [PART OF A NAME]; no mutant has "${only}" in its name`,
    )
    process.exit(2)
  }
  const verdicts = await tryAll(wanted)
  const missed = verdicts.filter(({ caught }) => caught === undefined || isVoid(caught)).length
  const all = verdicts.length
  console.log(missed === 0 ? `all ${all} mutants were caught` : `${missed} of ${all} were missed`)
  process.exitCode = missed === 0 ? 0 : 1
}
