/**
 * Prints the path of one write through the source, file by file: a client of a follower sets the
 * data of a znode, from the bytes that arrive to the reply. Two of three servers are up, so leader
 * and follower are the quorum, and nothing else goes on.
 *
 *     npm run walk            without calls to utilities (`base/`) and to the tree (`state/`)
 *     npm run walk -- --all   every call inside core
 *
 * A line is a visit of a file, with the functions that are entered there. A hop is a step from one
 * line to the next; a return is a visit of a file that was visited before. An empty line stands
 * where the server waits for its host: bytes, a disk, the next turn.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { TestEnsemble } from '../support/ensemble.ts'

/** A function of core that was entered. */
export interface Entry {
  /** Below `packages/core/src`. */
  readonly file: string
  readonly name: string
  /** The host called it, not core. */
  readonly isFromHost: boolean
}

const isLeaf = (file: string): boolean => file.startsWith('base/') || file.startsWith('state/')
const rounds = 10

const entries = await entriesOfWrite()
const isAll = process.argv.includes('--all')
print(isAll ? entries : entries.filter(({ file }) => !isLeaf(file)))

/** The functions of core that one write enters, in order. */
async function entriesOfWrite(): Promise<Entry[]> {
  const world = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' })
  await world.start(1, 2)
  await world.serving(2)
  const client = await world.followers[0]!.connect()
  await client.create('/node')
  const request = { path: '/node', data: new Uint8Array(8), version: -1 }
  // Steps of the first time only are not part of the walk.
  for (let round = 0; round < rounds; round++) await client.call('setData', request)
  await world.step()
  const worker = new Worker(new URL('stepper.mjs', import.meta.url))
  await once(worker, 'message')
  await client.call('setData', request)
  const found = once(worker, 'message') as Promise<[Entry[]]>
  endOfWalk()
  const [walked] = await found
  await worker.terminate()
  return walked
}

/** The stepper stops where this is entered. */
function endOfWalk(): void {}

function print(walked: readonly Entry[]): void {
  const files = new Set<string>()
  let hops = -1
  let file: string | undefined
  let names: string[] = []
  const flush = (): void => {
    if (file !== undefined) console.log(`${String(hops).padStart(4)}  ${file}: ${names.join(', ')}`)
    names = []
  }
  for (const entry of walked) {
    const isNew = entry.file !== file
    if (isNew || entry.isFromHost) flush()
    if (entry.isFromHost) console.log()
    if (isNew) hops++
    files.add(entry.file)
    file = entry.file
    if (names.at(-1) !== entry.name) names.push(entry.name)
  }
  flush()
  const returns = hops + 1 - files.size
  console.log(`\n${hops} hops, ${files.size} files, ${returns} returns`)
}
