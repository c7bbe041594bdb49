/**
 * The leader stands still, cut off from the other servers, until they have another one. When it
 * goes on it does not know what has happened, and clients that know better come. As long as it
 * leads it answers nobody: it can see by its clock that it stood still, and nobody confirms it.
 */
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const pollMs = 10
const pausedMsMax = 6000
const watchedMs = 1200

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
  const { now: pausedAt } = cluster.history
  const pausedMs = world.nowMs
  process.pause()
  const { resumes } = process
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
      // Another fault may have made it go on meanwhile, and stand still once more.
      const isSame = leader.process === process && process.alive && process.resumes === resumes
      process.resume()
      const stoodStillMs = (world.nowMs - pausedMs) * leader.clock.rate
      if (isSame && isReplaced && stoodStillMs > 2 * cluster.tickMs)
        watch(cluster, leader, pausedAt)
      for (const client of clients) client.goTo(leader.name)
    })
    world.after(1500, () => {
      for (const [from, to] of pairs) network.unblock(from, to)
    })
  }
  world.after(pollMs, poll)
}

/** Whether anybody is answered what was asked since, while it still believes that it leads. */
function watch({ world, history, recorder }: Cluster, leader: SimServer, since: number): void {
  const { life, name } = leader
  const roleOf = (): unknown => {
    const { peer } = leader.process ?? {}
    if (peer === undefined) return undefined
    const role = Reflect.get(peer, 'role') as { readonly name: string }
    return role.name === 'leading' ? role : undefined
  }
  const role = roleOf()
  const admitted = history.conversations.length
  const untilMs = world.nowMs + watchedMs
  const look = (): void => {
    if (roleOf() !== role || role === undefined || leader.life !== life) return
    for (const [i, { server, life: itsLife, frames }] of history.conversations.entries()) {
      if (server !== name || itsLife !== life) continue
      const isLate = frames.some((one) => one.kind === 'reply' && one.operation.called > since)
      if (!isLate && i < admitted) continue
      recorder.violation(`${name} answers although it stood still and was replaced`)
      return
    }
    if (world.nowMs < untilMs) world.after(pollMs, look)
  }
  recorder.count('leaders watched that went on unaware')
  world.after(pollMs, look)
}
