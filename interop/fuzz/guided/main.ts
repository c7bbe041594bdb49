/**
 * Coverage-guided fuzzing of everything that reads untrusted bytes.
 *
 *     npm run test:fuzz:guided -- [--minutes 120] [--seed N] [--target NAME] [--keep]
 *
 * It bundles the sources and counts every branch. Inputs that take a new branch are kept and
 * mutated further. `--keep` writes the inputs that cover most to `corpus/`; each finding is written
 * to `found/`. `npm test` replays both.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { seedOf } from '../../../packages/server/test/support/random.ts'
import { cacheDir } from '../../src/apache.ts'
import { corpusOf, writeCorpus, foundFolder } from './corpus.ts'
import { instrument, type Instrumented } from './instrument.ts'
import { targets } from './targets/index.ts'
import { sharedHeaderBytes, type FromWorker, type WorkerData, type WorkerState } from './worker.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string' },
    target: { type: 'string', multiple: true },
    keep: { type: 'boolean', default: false },
  },
})

/** An input that takes more processor time than this is a finding, on a busy machine, too. */
const hangCpuMs = 10_000
/** An input that waits longer than this is a finding. */
const hangMs = 120_000
const lookMs = 1000
const heapMegabytesMax = 1024
/** The allowed growth of caches during a run; a leak exceeds it. */
const growthBytesMax = 256 * 1024 * 1024
const inputBytesMax = 64 * 1024

interface Outcome extends WorkerState {
  readonly findings: number
  readonly grownBytes: number
}

const chosen = targets.filter(({ name }) => values.target?.includes(name) ?? true)
const seed = seedOf(values.seed)
const msMax = (Number(values.minutes) * 60_000) / chosen.length
const folder = join(cacheDir, 'fuzz')
mkdirSync(folder, { recursive: true })
const worker = await instrument(join(import.meta.dirname, 'worker.ts'))
const workerFile = join(folder, 'worker.mjs')
writeFileSync(workerFile, worker.code)
console.log(
  `seed ${seed}: ${chosen.length} targets, ${Math.round(msMax / 1000)} s each, ${worker.branches} branches in all`,
)

let failed = 0
for (const { name } of chosen) {
  const outcome = await explore(name, worker)
  const { runs, branchesTaken, findings, grownBytes, corpus } = outcome
  const hasGrown = grownBytes > growthBytesMax
  const isGood = findings === 0 && !hasGrown
  if (!isGood) failed++
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${name}: ${runs} runs, ${branchesTaken} branches, ${corpus.length} inputs kept, ` +
      `${findings} findings, memory held grew by ${Math.round(grownBytes / 1024 / 1024)} MiB`,
  )
  if (values.keep) writeCorpus(name, corpus)
}
console.log(`${chosen.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

/**
 * Explores a target for its time. A thread that hangs or dies is replaced, and its input is a
 * finding.
 */
async function explore(target: string, { branches, dictionary }: Instrumented): Promise<Outcome> {
  const endMs = performance.now() + msMax
  let findings = 0
  let last: WorkerState = { runs: 0, branchesTaken: 0, corpus: corpusOf(target), heldBytes: 0 }
  let runs = 0
  let grownBytes = 0
  for (let round = 0; performance.now() < endMs && findings < 20; round++) {
    const shared = new SharedArrayBuffer(sharedHeaderBytes + inputBytesMax)
    const data: WorkerData = {
      target,
      seed: seed + round,
      msMax: endMs - performance.now(),
      branches,
      dictionary,
      corpus: last.corpus,
      shared,
    }
    const thread = new Worker(new URL(`file://${workerFile}`), {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax },
    })
    const end = await watch(thread, shared, {
      finding(input, problem) {
        findings++
        record(target, input, problem)
      },
      progress(state) {
        // Memory that is allocated once and kept is not growth.
        if (last.heldBytes > 0) grownBytes = Math.max(grownBytes, state.heldBytes - last.heldBytes)
        last = { ...state, heldBytes: last.heldBytes || state.heldBytes }
      },
    })
    runs += last.runs
    if (end === 'done') break
    if (new Int32Array(shared)[0] === 0) throw new Error(`${target} did not begin: ${end}`)
    findings++
    record(target, currentInput(shared), end)
  }
  return { ...last, runs, findings, grownBytes }
}

interface Watcher {
  readonly finding: (input: Uint8Array, problem: string) => void
  readonly progress: (state: WorkerState) => void
}

/** Resolves to `done`, or to the reason why the thread ended early. */
async function watch(thread: Worker, shared: SharedArrayBuffer, watcher: Watcher): Promise<string> {
  const header = new Int32Array(shared, 0, 2)
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let since = { runs: -1, cpuMs: cpuMs(), ms: performance.now() }
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const runs = Atomics.load(header, 0)
      if (runs !== since.runs || runs === 0) {
        since = { runs, cpuMs: cpuMs(), ms: performance.now() }
      } else if (cpuMs() - since.cpuMs > hangCpuMs || performance.now() - since.ms > hangMs) {
        finish(`it took more than ${hangCpuMs} ms of processor time, or ${hangMs} ms in all`)
      }
    }, lookMs)
    const finish = (end: string): void => {
      clearInterval(timer)
      resolve(end)
      void thread.terminate()
    }
    thread.on('message', (message: FromWorker) => {
      if (message.type === 'finding') watcher.finding(message.input, message.problem)
      else watcher.progress(message.state)
      if (message.type === 'done') finish('done')
    })
    thread.on('error', (error: Error) => finish(error.stack ?? error.message))
    thread.on('exit', (code) => finish(`the thread ended with ${code}`))
  })
}

function currentInput(shared: SharedArrayBuffer): Uint8Array {
  const [, length = 0] = new Int32Array(shared, 0, 2)
  return new Uint8Array(shared, sharedHeaderBytes, length).slice()
}

function record(target: string, input: Uint8Array, problem: string): void {
  const name = createHash('sha1').update(input).digest('hex').slice(0, 12)
  const place = join(foundFolder, target)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, name), input)
  console.log(
    `FOUND ${target}/${name} (${input.length} bytes)\n  ${problem.split('\n').slice(0, 8).join('\n  ')}`,
  )
}
