/**
 * A follower is disconnected while more is written than memory keeps. When it comes back, its
 * leader reads the log for it, slowly, while writes continue.
 */
import type { SimClient } from '../client/client.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

const everyMs = 6
const writesAway = 50
const writesMeanwhile = 200

export function followerAway(cluster: Cluster, { amount, client }: Fault): void {
  const { world, servers, clients } = cluster
  const leader = leaderOf(cluster)
  const followers = servers.filter((server) => server !== leader && server.isServing)
  const follower = followers[Math.floor(amount * followers.length)]
  if (leader === undefined || follower === undefined) return
  const writer = clients[client]!
  writer.goTo(leader.name)
  follower.crash('is killed')
  world.after(200, () => {
    write(cluster, writer, 0, writesAway)
    world.after(writesAway * everyMs, () => {
      const { condition } = leader.disk
      // Reads and writes of the disk are slow, so many transactions are committed at once.
      condition.slowness = 2 + amount * 30
      write(cluster, writer, writesAway, writesMeanwhile)
      follower.startLater(0)
      world.after(writesMeanwhile * everyMs, () => (condition.slowness = 1))
    })
  })
}

function write({ world }: Cluster, client: SimClient, from: number, count: number): void {
  const { server } = client
  for (let i = 0; i < count; i++) {
    world.after(i * everyMs, () => {
      if (client.server !== server || !client.isConnected) return
      client.ask({ op: 'setData', path: '/a', data: `meanwhile ${from + i}`, version: -1 })
    })
  }
}
