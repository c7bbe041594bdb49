/**
 * Packets of a follower to its leader are delayed, but not so long that the connection is given up.
 * Its clients have written, run out of patience and move to another server, so the packets arrive
 * too late. Or the commits to the follower are delayed.
 */
import type { SimClient } from '../client/client.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const writes = 3

export function lateFollower(cluster: Cluster, fault: Fault): void {
  const { world, network, servers, clients } = cluster
  const leader = leaderOf(cluster)
  const followers = servers.filter((server) => server !== leader && server.isServing)
  const follower = followers[Math.floor(fault.amount * followers.length)]
  if (leader === undefined || follower === undefined) return
  clients[fault.client]!.goTo(follower.name)
  world.after(100 + 8 * network.options.delayMsMax, () => {
    if (fault.forMs % 2 === 0) delayRequests(cluster, follower, leader, fault)
    else delayCommits(cluster, follower, leader)
  })
}

function delayRequests(
  { world, network, servers, clients, tickMs }: Cluster,
  follower: SimServer,
  leader: SimServer,
  { forMs }: Fault,
): void {
  network.block(follower.name, leader.name)
  const moving = clients.filter(({ server }) => server === follower.name)
  for (const client of moving) write(client, 'early')
  world.after(20 + 2 * network.options.delayMsMax, () => {
    const others = servers.filter((server) => server !== follower)
    for (const client of moving) {
      client.goTo(others[forMs % others.length]!.name)
      write(client, 'late')
    }
  })
  world.after(tickMs + 10 * network.options.delayMsMax, () =>
    network.unblock(follower.name, leader.name),
  )
}

/**
 * Clients of other servers get answers; a sync on this server must show them, however long it
 * takes.
 */
function delayCommits(
  { world, network, clients, tickMs }: Cluster,
  follower: SimServer,
  leader: SimServer,
): void {
  network.block(leader.name, follower.name)
  for (const client of clients.filter(({ server }) => server !== follower.name)) {
    write(client, 'elsewhere')
  }
  world.after(30 + 6 * network.options.delayMsMax, () => {
    for (const client of clients.filter(({ server }) => server === follower.name)) {
      client.ask({ op: 'sync', path: '/a' })
      client.ask({ op: 'getData', path: '/a', watch: false })
    }
  })
  world.after(tickMs + 8 * network.options.delayMsMax, () =>
    network.unblock(leader.name, follower.name),
  )
}

function write(client: SimClient, data: string): void {
  for (let i = 0; i < writes; i++) {
    client.ask({ op: 'setData', path: '/a', data: `${data} ${i}`, version: -1 })
  }
}
