/**
 * The leader is paused and cut off from the other servers until they have elected another one. When
 * it resumes, it does not know that, and clients that know the newer state connect. It must answer
 * none of them while it believes to lead: its clock shows the pause, and no follower confirms it.
 *
 * One in three is only cut off. Such a leader may answer reads for a while, but not a sync, because
 * no follower confirms it.
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
  const isPaused = forMs % 3 !== 0
  if (isPaused) process.pause()
  const { resumes } = process
  // The others notice at once; otherwise all sessions might expire first.
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
    // Clients have this long to see newer state.
    world.after(200 + (forMs % 400), () => {
      // Another fault may have resumed and paused it again in the meantime.
      const isSame = leader.process === process && process.alive && process.resumes === resumes
      process.resume()
      const stoodStillMs = (world.nowMs - pausedMs) * leader.clock.rate
      if (isPaused && isSame && isReplaced && stoodStillMs > 2 * cluster.tickMs) {
        watch(cluster, leader, pausedAt)
      }
      for (const client of clients) {
        client.goTo(leader.name)
        if (!isPaused) client.ask({ op: 'sync', path: '/a' })
      }
    })
    world.after(1500, () => {
      for (const [from, to] of pairs) network.unblock(from, to)
    })
  }
  world.after(pollMs, poll)
}

/** Watches for answers to requests sent since then, while it still believes to lead. */
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
