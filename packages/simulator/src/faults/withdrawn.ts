/**
 * A follower acknowledges a proposal that the leader's own slow disk does not have yet, and loses
 * its connection. When it comes back it must truncate the proposal, because it is not committed:
 * its acknowledgement no longer counts. No other server has received it in the meantime.
 */
import type { Cluster } from '../cluster/cluster.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const slownessMax = 400
const writes = 3

export function withdrawnAck(cluster: Cluster, { amount, client, forMs }: Fault): void {
  const { world, network, servers, clients, tickMs } = cluster
  const leader = leaderOf(cluster)
  const followers = servers.filter((server) => server !== leader && server.isServing)
  const follower = followers[Math.floor(amount * followers.length)]
  if (leader === undefined || follower === undefined) return
  const others = followers.filter((server) => server !== follower)
  clients[client]!.goTo(leader.name)
  world.after(100 + 8 * network.options.delayMsMax, () => {
    for (const { name } of others) network.block(leader.name, name)
    leader.disk.condition.slowness = 1 + amount * slownessMax
    for (const each of clients.filter(({ server }) => server === leader.name)) {
      for (let i = 0; i < writes; i++) {
        each.ask({ op: 'setData', path: '/a', data: `withdrawn ${i}`, version: -1 })
      }
    }
    world.after(10 + 4 * network.options.delayMsMax, () => {
      const { process } = follower
      if (process?.alive !== true) return
      follower.disk.condition.slowness = 1 + ((forMs % 100) / 100) * slownessMax
      for (const stream of process.peerNetwork?.streams() ?? []) {
        if (stream.farHost.startsWith(leader.name)) stream.reset()
      }
    })
  })
  world.after(3 * tickMs + 20 * network.options.delayMsMax, () => {
    for (const { name } of others) network.unblock(leader.name, name)
    leader.disk.condition.slowness = follower.disk.condition.slowness = 1
  })
}
