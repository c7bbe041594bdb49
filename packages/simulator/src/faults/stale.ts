/**
 * The leader stands still, cut off from the other servers, until they have another one. When it
 * goes on it believes for a while that nothing has happened, and clients that know better come.
 */
import type { Cluster } from '../cluster/cluster.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const pollMs = 10
const pausedMsMax = 6000

export function staleLeader(cluster: Cluster, { forMs }: Fault): void {
  const { world, network, servers, clients, recorder } = cluster
  const leader = leaderOf(cluster)
  const process = leader?.process
  if (leader === undefined || process?.alive !== true) return
  const pairs = servers
    .filter((other) => other !== leader)
    .flatMap(({ name }): [string, string][] => [
      [leader.name, name],
      [name, leader.name],
    ])
  for (const [from, to] of pairs) network.block(from, to)
  process.pause()
  // The others notice at once; it must not take so long that all sessions are over.
  for (const stream of process.peerNetwork?.streams() ?? []) stream.far.fail()
  const untilMs = world.nowMs + pausedMsMax
  const poll = (): void => {
    const next = leaderOf(cluster)
    const isReplaced =
      next !== undefined && next !== leader && next.process?.peer?.isServing === true
    if (!isReplaced && world.nowMs < untilMs) {
      world.after(pollMs, poll)
      return
    }
    if (isReplaced) recorder.count('leaders that went on unaware')
    // So long clients may learn what has happened since.
    world.after(200 + (forMs % 400), () => {
      process.resume()
      for (const client of clients) client.goTo(leader.name)
    })
    world.after(1500, () => {
      for (const [from, to] of pairs) network.unblock(from, to)
    })
  }
  world.after(pollMs, poll)
}
