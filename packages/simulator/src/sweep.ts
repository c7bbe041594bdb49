/**
 * Runs many seeds on all cores. Each worker is the command of this package, bundled into one file
 * first: that runs about a tenth faster, and its hash identifies the version of the code.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { bundle } from './bundle.ts'
import { Progress } from './progress.ts'
import { runSeed, type SeedKind } from './run-seed.ts'
import type { RunResult } from './run.ts'
import type { Counts } from './summary.ts'
import { runTwice } from './twice.ts'

export interface Swept {
  readonly seeds: number
  readonly failed: number[]
  readonly counts: Counts
  /** The duration, including earlier parts of a resumed sweep. */
  readonly seconds: number
  /** Whether the whole range is done. */
  readonly isWhole: boolean
}

export interface Range {
  readonly first: number
  readonly last: number
}

export type Outcome = {
  readonly seed: number
  readonly isFailed: boolean
  /** It ran a second time, after other seeds, and something differed. */
  readonly isDifferent: boolean
  readonly counts: [string, number][]
}

const seedsAtOnce = 5
const saveEveryMs = 5000
const reportEveryMs = 60_000

/** The worker: runs the seeds that its parent names, and reports each. */
export function work(kind: SeedKind): void {
  const tell = (message: Outcome | 'next'): void => {
    if (process.connected) process.send?.(message)
  }
  const runOne = (seed: number): Promise<RunResult> => runSeed({ seed, ...kind })
  process.on('message', ({ first, last }: Range) => {
    const seeds = Array.from({ length: last - first + 1 }, (_, i) => first + i)
    void (async () => {
      for await (const { result, isSame } of runAll(seeds, runOne, kind.isTwice === true)) {
        const { seed, violations, counts } = result
        const isFailed = violations.length > 0 || !isSame
        tell({ seed, isFailed, isDifferent: !isSame, counts: [...counts] })
        // A run never returns to the event loop, which must turn to send the report.
        await new Promise((resolve) => setImmediate(resolve))
      }
      tell('next')
    })()
  })
  tell('next')
}

async function* runAll(
  seeds: readonly number[],
  runOne: (seed: number) => Promise<RunResult>,
  isTwice: boolean,
): AsyncGenerator<{ readonly result: RunResult; readonly isSame: boolean }> {
  if (isTwice) yield* runTwice(seeds, runOne)
  else for (const seed of seeds) yield { result: await runOne(seed), isSame: true }
}

/** Runs until all seeds are done or time is up; skips what an earlier sweep has done. */
export async function sweep(
  range: Range,
  untilMs: number,
  kind: SeedKind,
  workerCount = availableParallelism(),
): Promise<Swept> {
  const program = await bundle()
  const progress = Progress.load(program.hash, range, kind)
  if (progress.seeds > 0) console.log(`${progress.seeds} seeds of it were done before`)
  const workers = Array.from({ length: workerCount }, () => {
    const execArgv = ['--enable-source-maps', '--max-semi-space-size=32']
    return fork(program.path, ['--worker', JSON.stringify(kind)], { execArgv })
  })
  const stop = (): void => {
    for (const worker of workers) worker.kill()
  }
  const timers = [
    setInterval(() => progress.save(), saveEveryMs),
    setInterval(() => console.log(progress.describe()), reportEveryMs),
  ]
  let isInterrupted = false
  const interrupt = (): void => {
    isInterrupted = true
    stop()
  }
  process.once('SIGINT', interrupt)
  try {
    await Promise.all(workers.map((worker) => drive(worker, progress, untilMs)))
  } catch (error) {
    stop()
    if (!isInterrupted) throw error
  } finally {
    for (const timer of timers) clearInterval(timer)
    process.off('SIGINT', interrupt)
    progress.save()
    program.remove()
  }
  return progress.swept()
}

/** Gives a worker seeds until there are none, or time is up. */
function drive(worker: ChildProcess, progress: Progress, untilMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let batch: Range | undefined
    worker.on('message', (message: Outcome | 'next') => {
      if (message !== 'next') {
        progress.note(message)
        if (message.isDifferent) console.log(`seed ${message.seed} did not repeat itself`)
        else if (message.isFailed) console.log(`seed ${message.seed} failed`)
        return
      }
      if (batch !== undefined) progress.finished(batch)
      batch = Date.now() < untilMs ? progress.take(seedsAtOnce) : undefined
      if (batch === undefined) worker.disconnect()
      else worker.send(batch)
    })
    worker.on('error', reject)
    worker.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`a worker ended with ${code ?? signal}`))
    })
  })
}
