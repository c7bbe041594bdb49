/**
 * The leader is isolated with what it has logged: its clients write, it proposes, and none of that
 * arrives. The others elect another leader. When the old one comes back, its log contains what is
 * not part of the history, and it must discard that.
 */
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { leaderOf } from './leader-of.ts'
import type { Fault } from './schedule.ts'

/** If there is no leader, there will be one soon. */
const retryMs = 400
const attemptsMax = 10
const pollMs = 10
const strandedMsMax = 6000
/**
 * No client writes to the new leader for this long, so that what the old one has is not simply
 * older.
 */
const quietMs = 1500
const writesMax = 24
const snapshotMs = 100

export function strandLeader(cluster: Cluster, fault: Fault, attempt = 1): void {
  const { world, recorder, clients } = cluster
  const again = (): void => {
    if (attempt === attemptsMax) recorder.count('stranded: nobody')
    else world.after(retryMs, () => strandLeader(cluster, fault, attempt + 1))
  }
  const leader = establishedLeader(cluster)
  if (leader === undefined) {
    again()
    return
  }
  clients[fault.client]!.goTo(leader.name)
  world.after(50 + (fault.forMs % 250), () => {
    if (establishedLeader(cluster) === leader) strand(cluster, leader, fault)
    else again()
  })
}

function establishedLeader(cluster: Cluster): SimServer | undefined {
  const leader = leaderOf(cluster)
  return leader?.isServing === true && leader.process?.peer?.isServing === true ? leader : undefined
}

function strand(cluster: Cluster, leader: SimServer, fault: Fault): void {
  const { world, network, recorder } = cluster
  const { amount, forMs } = fault
  const { apart, rest } = divide(cluster, leader, fault)
  const cut = apart.flatMap((from) => rest.map((to): [string, string] => [from.name, to.name]))
  for (const [from, to] of cut) network.block(from, to)
  write(cluster, leader, 1 + (Math.floor(amount * 997) % writesMax))
  const quiet = amount < 0.9 ? silence(cluster, rest) : () => {}
  // By then some of the writes have arrived and are in the log.
  const writtenMs = 20 + (forMs % 80) + 4 * network.options.delayMsMax
  world.after(writtenMs, () => fell(leader, apart, forMs % 5))
  const isHurried = forMs % 3 === 0
  // Then it joins the next leader before that leader's voters have promised to follow.
  if (isHurried) for (const { disk } of rest) disk.condition.slowness = 30 + amount * 150
  if (forMs % 4 === 0) leader.disk.condition.crashesInTakeover = (amount * 997) % 17
  const untilMs = world.nowMs + strandedMsMax
  const comeBack = (): void => {
    for (const [from, to] of cut) network.unblock(from, to)
    leader.startLater(0)
    world.after(quietMs, quiet)
  }
  const poll = (): void => {
    const next = leaderOf(cluster)
    const isOther = next !== undefined && next !== leader
    const isReplaced = isOther && (isHurried || next.process?.peer?.isServing)
    if (isHurried && isOther) {
      next.disk.condition.slowness = 1
      world.after(quietMs, () => {
        for (const { disk } of rest) disk.condition.slowness = 1
      })
    }
    if (isReplaced !== true && world.nowMs < untilMs) {
      world.after(pollMs, poll)
      return
    }
    recorder.count(isReplaced === true ? 'stranded: replaced' : 'stranded: in vain')
    if (isReplaced !== true) for (const { disk } of rest) disk.condition.slowness = 1
    // A snapshot of transactions that no other server has must be discarded with them.
    const journal =
      amount * 10 - Math.floor(amount * 10) < 0.5 ? leader.process?.journal : undefined
    if (leader.isServing && journal !== undefined) void journal.snapshotNow()
    world.after(journal === undefined ? 0 : snapshotMs, comeBack)
  }
  world.after(pollMs, poll)
}

function divide(
  { servers }: Cluster,
  leader: SimServer,
  { amount, forMs }: Fault,
): { apart: SimServer[]; rest: SimServer[] } {
  const others = servers.filter((server) => server !== leader)
  // In a larger ensemble one more server may log the same, which is still no quorum.
  const companion = others.length >= 4 && amount < 0.4 ? others[forMs % others.length] : undefined
  const rest = others.filter((server) => server !== companion)
  return { apart: companion === undefined ? [leader] : [leader, companion], rest }
}

function fell(leader: SimServer, apart: readonly SimServer[], how: number): void {
  if (how < 2) {
    leader.crash(how === 0 ? 'is killed' : 'power fails')
    leader.startLater(50)
  } else if (how < 4) {
    // Closes the streams, so that no server waits until the silence is long enough.
    for (const server of apart) loseStreams(server)
  }
}

/** One after the other, so that they are logged separately. */
function write({ world, clients }: Cluster, leader: SimServer, count: number): void {
  for (const client of clients.filter(({ server }) => server === leader.name)) {
    for (let i = 0; i < count; i++) {
      const data = `stranded ${i}`.padEnd((i * 37) % 600, '.')
      world.after(i * 4, () => {
        if (client.server === leader.name) {
          client.ask({ op: 'setData', path: '/a', data, version: -1 })
        }
      })
    }
  }
}

function loseStreams({ process }: SimServer): void {
  if (process?.alive !== true) return
  for (const stream of process.peerNetwork?.streams() ?? []) {
    stream.far.fail()
    stream.fail()
  }
}

/** Blocks all traffic between clients and these servers; call the result to end that. */
function silence({ network, clients }: Cluster, servers: readonly SimServer[]): () => void {
  const pairs = clients.flatMap((client) =>
    servers.flatMap(({ name }): [string, string][] => [
      [client.name, name],
      [name, client.name],
    ]),
  )
  for (const [from, to] of pairs) network.block(from, to)
  return () => {
    for (const [from, to] of pairs) network.unblock(from, to)
  }
}
