import { createFlags } from '@zabra/protocol'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'
import { fill, type LeftSession } from '../exchange/fill.ts'
import type { Member, MixedEnsemble, Sync } from './ensemble.ts'

/** More than any leader keeps in memory. */
const missedByFar = 1200
const tailLength = 20

/** Results of a synchronization besides the final state. */
export interface Happened {
  /** How often the third server was synchronized. */
  readonly times: number
  readonly sessions: readonly LeftSession[]
  /** Nodes that must not exist: they were never acknowledged, and were truncated. */
  readonly gone: readonly string[]
}

/** The start order, so that the second server leads, or the third for as long as necessary. */
export const startOrder: Record<Sync, readonly [readonly number[], readonly number[]]> = {
  DIFF: [[1, 2], [3]],
  SNAP: [[1, 2], [3]],
  TRUNC: [[3, 1], [2]],
}

/**
 * Makes the third server miss transactions, or log ones that are never committed, and return to be
 * synchronized by the second. `whileAway` runs while it is gone and the two others serve.
 */
export async function synchronise(
  ensemble: MixedEnsemble,
  sync: Sync,
  options: { readonly isObserver: boolean; readonly whileAway: () => Promise<void> },
): Promise<Happened> {
  if (sync === 'TRUNC') return cutTail(ensemble, options)
  const leader = ensemble.member(2)
  const learner = ensemble.member(3)
  await learner.server.stop('SIGKILL')
  await options.whileAway()
  if (sync === 'DIFF') {
    const sessions = [await fill(leader.port, '/missed', 60)]
    await learner.server.start()
    return { times: 1, sessions, gone: [] }
  }
  await writeMany(leader, '/missed')
  // The first time it is far behind, and writes continue while it is synchronized.
  const writing = writeMany(leader, '/during')
  await learner.server.start()
  await writing
  await learner.server.stop('SIGKILL')
  learner.loseData()
  await learner.server.start()
  return { times: 2, sessions: [], gone: [] }
}

async function writeMany(at: Member, root: string): Promise<void> {
  const client = await RawClient.connect(at.port, { timeoutMs: 60_000 })
  await client.create(root)
  const creates = Array.from({ length: missedByFar / 2 }, (_, i) => {
    return client.create(`${root}/n`, `${i}`, createFlags.persistentSequential)
  })
  const sets = Array.from({ length: missedByFar / 2 }, (_, i) => {
    return client.must('setData', { path: root, data: Buffer.from(`${i}`), version: i })
  })
  await Promise.all([...creates, ...sets])
  await client.close()
}

/** The third server leads, and logs what no other server receives. */
async function cutTail(
  ensemble: MixedEnsemble,
  options: { readonly isObserver: boolean; readonly whileAway: () => Promise<void> },
): Promise<Happened> {
  const [one, two, three] = ensemble.members as [Member, Member, Member]
  const writer = await RawClient.connect(three.port, { timeoutMs: 120_000 })
  await writer.create('/last-acknowledged')
  for (const member of ensemble.members) await member.untilLogged('/last-acknowledged')
  await Promise.all([one, two].map(({ server }) => server.freeze()))
  const gone = Array.from({ length: tailLength }, (_, i) => `/tail-${i}-end`)
  const answers = gone.map((path) => {
    return writer.call('create', { path, data: null, acl: openAcl, flags: 0 })
  })
  const settled = Promise.allSettled(answers)
  await three.untilLogged(gone.at(-1)!)
  await three.server.stop('SIGKILL')
  // The two servers must never read what waits in their sockets.
  await Promise.all([one, two].map(({ server }) => server.stop('SIGKILL')))
  const acknowledged = (await settled).filter(({ status }) => status === 'fulfilled').length
  if (acknowledged > 0) throw new Error(`${acknowledged} writes were acknowledged by one server`)
  if (options.isObserver) ensemble.setVoters(2)
  await ensemble.start([1, 2], [])
  await options.whileAway()
  await three.server.start()
  return { times: 1, sessions: [], gone }
}
