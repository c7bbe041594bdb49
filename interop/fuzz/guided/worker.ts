/** A thread that explores one target until its parent ends it. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { Random } from '../../../packages/server/test/support/random.ts'
import { Explorer } from './explorer.ts'
import { targets } from './targets/index.ts'

export interface WorkerData {
  readonly target: string
  readonly seed: number
  readonly msMax: number
  readonly branches: number
  readonly dictionary: readonly Uint8Array[]
  readonly corpus: readonly Uint8Array[]
  /** The number of runs, the length of the current input, and the input. */
  readonly shared: SharedArrayBuffer
}

export type FromWorker =
  | { readonly type: 'finding'; readonly input: Uint8Array; readonly problem: string }
  | { readonly type: 'progress' | 'done'; readonly state: WorkerState }

export interface WorkerState {
  readonly runs: number
  readonly branchesTaken: number
  readonly corpus: readonly Uint8Array[]
  readonly heldBytes: number
}

export const sharedHeaderBytes = 8
const reportEveryMs = 5000

// Threads cannot have V8 flags of their own, and memory is measured after a garbage collection.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

async function explore(data: WorkerData): Promise<void> {
  const port = parentPort!
  const say = (message: FromWorker): void => port.postMessage(message)
  const target = targets.find(({ name }) => name === data.target)!
  const header = new Int32Array(data.shared, 0, 2)
  const current = new Uint8Array(data.shared, sharedHeaderBytes)
  const explorer = new Explorer({
    target,
    random: new Random(data.seed),
    branchCounts: (globalThis as unknown as { branchCounts: Uint8Array }).branchCounts,
    dictionary: data.dictionary,
    onRun(input) {
      current.set(input)
      Atomics.store(header, 1, input.length)
      Atomics.add(header, 0, 1)
    },
    onFinding: (finding) => say({ type: 'finding', ...finding }),
  })
  const state = (): WorkerState => {
    const { runs, branchesTaken, corpus } = explorer
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return { runs, branchesTaken, corpus, heldBytes: heapUsed + arrayBuffers }
  }
  const endMs = performance.now() + data.msMax
  let seeds: readonly Uint8Array[] = [...(await target.seeds()), ...data.corpus]
  while (performance.now() < endMs) {
    await explorer.explore(seeds, Infinity, Math.min(endMs, performance.now() + reportEveryMs))
    seeds = []
    collect()
    say({ type: 'progress', state: state() })
  }
  say({ type: 'done', state: state() })
}

if (workerData !== null) await explore(workerData as WorkerData)
