/**
 * Two histories meet on one disk. A leader is isolated with what it logged, comes back, gets the
 * whole tree from the next leader, and crashes when that is stored and its old logs are not removed
 * yet. It leads again, and a server reconnects that was away since before all that: what that
 * server lacks is in those logs, up to the point where they are wrong.
 */
import type { SimClient } from '../client/client.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { crashAtSync } from '../world/sim-disk.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const serversMin = 5
const pollMs = 20
const stepMsMax = 6000
const writes = 4

export function twoHistories(cluster: Cluster, { amount }: Fault): void {
  const { world, network, servers, clients, recorder } = cluster
  const leader = leaderOf(cluster)
  const others = servers.filter((server) => server !== leader && server.isServing)
  if (leader?.isServing !== true || others.length < serversMin - 1) return
  const away = others[Math.floor(amount * others.length)]!
  const rest = others.filter((server) => server !== away)
  const pairs = rest.flatMap(({ name }): [string, string][] => [
    [leader.name, name],
    [name, leader.name],
  ])
  away.crash('is killed')
  for (const client of clients) client.goTo(leader.name)
  world.after(300, () => {
    for (const [from, to] of pairs) network.block(from, to)
    write(clients, 'alone')
  })
  world.after(400, () => {
    for (const stream of leader.process?.peerNetwork?.streams() ?? []) {
      stream.far.fail()
      stream.fail()
    }
    when(
      cluster,
      () => isLedBy(cluster, rest),
      () => {
        for (const client of clients) client.goTo(leaderOf(cluster)!.name)
        // A newer transaction: what the old leader has in addition cannot simply be truncated.
        world.after(300, () => write(clients, 'with the others'))
        world.after(600, () => {
          leader.disk.condition.crashesInTakeover = crashAtSync
          const { life } = leader
          for (const [from, to] of pairs) network.unblock(from, to)
          when(
            cluster,
            () => leader.life > life && leader.process?.peer?.isServing === true,
            () => {
              recorder.count('two histories on one disk')
              write(clients, 'with it')
              world.after(200, () => lead(cluster, leader, away, rest))
            },
          )
        })
      },
    )
  })
}

/** The others hand over until it leads, and then the one that was away comes back. */
function lead(cluster: Cluster, next: SimServer, away: SimServer, rest: SimServer[]): void {
  const leader = leaderOf(cluster)
  if (leader !== undefined && rest.includes(leader)) {
    leader.crash('is killed')
    leader.startLater(stepMsMax)
  }
  when(
    cluster,
    () => isLedBy(cluster, cluster.servers),
    () => {
      if (leaderOf(cluster) === next)
        cluster.recorder.count('two histories: led by the one with both')
      away.startLater(100)
    },
  )
  away.startLater(stepMsMax)
}

function isLedBy(cluster: Cluster, servers: readonly SimServer[]): boolean {
  const leader = leaderOf(cluster)
  return (
    leader !== undefined && servers.includes(leader) && leader.process?.peer?.isServing === true
  )
}

/** Continues as soon as the condition holds; gives up if that takes too long. */
function when({ world }: Cluster, isSo: () => boolean, then: () => void): void {
  const untilMs = world.nowMs + stepMsMax
  const poll = (): void => {
    if (isSo()) then()
    else if (world.nowMs < untilMs) world.after(pollMs, poll)
  }
  poll()
}

function write(clients: readonly SimClient[], data: string): void {
  for (const client of clients) {
    for (let i = 0; i < writes; i++) {
      client.ask({ op: 'setData', path: '/a', data: `${data} ${i}`, version: -1 })
    }
  }
}
