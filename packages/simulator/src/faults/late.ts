/**
 * What a follower sends to its leader comes late, not so late that anybody gives up. Its clients
 * have written, lose patience and go on elsewhere: when the first of it arrives it is too late.
 */
import type { Cluster } from '../cluster/cluster.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const writes = 3

export function lateFollower(cluster: Cluster, { client, amount, forMs }: Fault): void {
  const { world, network, servers, clients } = cluster
  const leader = leaderOf(cluster)
  const followers = servers.filter((server) => server !== leader && server.isServing)
  const follower = followers[Math.floor(amount * followers.length)]
  if (leader === undefined || follower === undefined) return
  clients[client]!.goTo(follower.name)
  const settleMs = 100 + 8 * network.options.delayMsMax
  world.after(settleMs, () => {
    network.block(follower.name, leader.name)
    const moving = clients.filter(({ server }) => server === follower.name)
    const write = (data: string): void => {
      for (const each of moving) {
        for (let i = 0; i < writes; i++) {
          each.ask({ op: 'setData', path: '/a', data: `${data} ${i}`, version: -1 })
        }
      }
    }
    write('early')
    world.after(20 + 2 * network.options.delayMsMax, () => {
      const others = servers.filter((server) => server !== follower)
      for (const each of moving) each.goTo(others[forMs % others.length]!.name)
      write('late')
    })
    world.after(settleMs + cluster.tickMs, () => network.unblock(follower.name, leader.name))
  })
}
