/** Many seeds, on all cores: each worker is this package's command again, with a part of them. */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { runSeed, type SeedKind } from './run-seed.ts'
import { addCounts, type Counts } from './summary.ts'

export interface Swept {
  readonly seeds: number
  readonly failed: number[]
  readonly counts: Counts
}

type Message = {
  readonly seed: number
  readonly isFailed: boolean
  readonly counts: [string, number][]
}

const main = fileURLToPath(new URL('./main.ts', import.meta.url))

/** What a worker does: every `stride`-th seed from `first` on, telling its parent of each. */
export async function work(
  first: number,
  stride: number,
  last: number,
  untilMs: number,
  kind: SeedKind,
): Promise<void> {
  for (let seed = first; seed <= last && Date.now() < untilMs; seed += stride) {
    const { violations, counts } = await runSeed({ seed, ...kind })
    const message: Message = { seed, isFailed: violations.length > 0, counts: [...counts] }
    if (process.connected) process.send?.(message)
  }
  process.disconnect?.()
}

export async function sweep(
  first: number,
  last: number,
  untilMs: number,
  kind: SeedKind,
): Promise<Swept> {
  const swept = { seeds: 0, failed: [] as number[], counts: new Map<string, number>() }
  const workers = Math.min(availableParallelism(), last - first + 1)
  await Promise.all(
    Array.from(
      { length: workers },
      (_, i) =>
        new Promise<void>((resolve, reject) => {
          const { servers = 0, isChanging = false, recipe = '' } = kind
          const settings = [first + i, workers, last, untilMs, servers, Number(isChanging)]
          const args = ['--worker', ...settings.map(String), recipe]
          const child = fork(main, args, { execArgv: process.execArgv })
          child.on('message', ({ seed, isFailed, counts }: Message) => {
            swept.seeds++
            addCounts(swept.counts, counts)
            if (!isFailed) return
            swept.failed.push(seed)
            console.log(`seed ${seed} failed`)
          })
          child.on('error', reject)
          child.on('exit', (code) => {
            if (code === 0) resolve()
            else reject(new Error(`a worker ended with ${code}`))
          })
        }),
    ),
  )
  swept.failed.sort((a, b) => a - b)
  return swept
}
