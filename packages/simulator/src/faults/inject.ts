import { EnsemblePeer } from '@zabra/core'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { callAt, crashAtKind, takeoverLost } from '../world/sim-disk.ts'
import { followerAway } from './away.ts'
import { churn } from './churn.ts'
import { emptyOne } from './empty.ts'
import { lateFollower } from './late.ts'
import { leaderOf } from './leader-of.ts'
import { damage } from './rot.ts'
import type { Fault } from './schedule.ts'
import { staleLeader } from './stale.ts'
import { strandLeader } from './strand.ts'
import { twoHistories } from './two-histories.ts'
import { visitors } from './visitors.ts'
import { withdrawnAck } from './withdrawn.ts'
import { wrongTree } from './wrong-tree.ts'

/** Injects a fault now. */
export function inject(cluster: Cluster, fault: Fault): void {
  const { world, network, recorder } = cluster
  const { forMs, amount } = fault
  const server = cluster.servers[Math.floor(Math.abs(amount) * 7919) % cluster.servers.length]!
  const client = cluster.clients[fault.client]!
  const { condition } = server.disk
  if (cluster.isHealed) recorder.violation(`${fault.kind} comes after everything has healed`)
  recorder.count(`fault: ${fault.kind}`)
  recorder.trace(`fault: ${fault.kind} (${fault.amount.toFixed(2)}, ${forMs} ms, ${client.name})`)
  const forAWhile = (begin: () => void, end: () => void): void => {
    begin()
    world.after(forMs, end)
  }
  switch (fault.kind) {
    case 'powerFailure':
    case 'kill':
      server.crash(fault.kind === 'kill' ? 'is killed' : 'power fails')
      server.startLater(forMs)
      return
    case 'stop':
      void server.stop().then(() => server.startLater(forMs))
      return
    case 'crashAtCall':
      condition.crashesAt = undefined
      condition.callsUntilCrash = amount
      return
    case 'crashAtKind':
      crashAtKind(condition, amount)
      return
    case 'crashInTakeover': {
      // At the first call of its kind, or at one of the next two.
      const at = amount < takeoverLost ? amount + (forMs % 3) / 10 : amount
      for (const { disk } of cluster.servers) disk.condition.crashesInTakeover = at
      return
    }
    case 'followerAway':
      followerAway(cluster, fault)
      return
    case 'twoHistories':
      twoHistories(cluster, fault)
      return
    case 'churn':
      churn(cluster, server, fault, churnedPaths(cluster))
      return
    case 'damage':
      damage(cluster, server, fault)
      return
    case 'visitors':
      visitors(cluster, server, fault)
      return
    case 'wrongTree':
      wrongTree(cluster, server, fault)
      return
    case 'configRefused':
      // For a while, or until everything heals.
      condition.configRefuses = amount < 0.5 ? 'everything' : 'pointer'
      if (forMs % 2 === 0) world.after(forMs, () => (condition.configRefuses = undefined))
      return
    case 'failedCall':
      condition.failsNext = { kind: callAt(amount * 12), hasEffect: forMs % 4 === 0 }
      return
    case 'pause': {
      const { process } = server
      if (process?.alive !== true) return
      forAWhile(
        () => process.pause(),
        () => process.resume(),
      )
      return
    }
    case 'diskFull':
      forAWhile(
        () => (condition.isFull = true),
        () => (condition.isFull = false),
      )
      return
    case 'failedSync':
      condition.failsNextSync = true
      return
    case 'slowDisk':
      forAWhile(
        () => (condition.slowness = amount),
        () => (condition.slowness = 1),
      )
      return
    case 'bitFlips':
      forAWhile(
        () => (condition.flipChance = 0.3),
        () => (condition.flipChance = 0),
      )
      return
    case 'reset':
      client.resetConnection()
      return
    case 'partition':
    case 'deafClient':
    case 'deafServer': {
      const toServer = fault.kind !== 'deafClient'
      const toClient = fault.kind !== 'deafServer'
      forAWhile(
        () => {
          if (toServer) network.block(client.name, server.name)
          if (toClient) network.block(server.name, client.name)
        },
        () => {
          network.unblock(client.name, server.name)
          network.unblock(server.name, client.name)
        },
      )
      return
    }
    case 'leaderCrash': {
      const leader = leaderOf(cluster)
      leader?.crash(amount < 0.5 ? 'is killed' : 'power fails')
      leader?.startLater(forMs)
      return
    }
    case 'handOver':
      handOver(cluster)
      return
    case 'strandedLeader':
      strandLeader(cluster, fault)
      return
    case 'staleLeader':
      staleLeader(cluster, fault)
      return
    case 'lateFollower':
      lateFollower(cluster, fault)
      return
    case 'withdrawnAck':
      withdrawnAck(cluster, fault)
      return
    case 'emptied':
      emptyOne(cluster, server, forMs)
      return
    case 'blackout':
      // Slow disks just before it, so that many proposals are not on any disk yet.
      for (const each of cluster.servers) each.disk.condition.slowness = 1 + amount * 100
      world.after(Math.min(forMs, 300), () => blackout(cluster, forMs, amount))
      return
    case 'leaderPause': {
      const process = leaderOf(cluster)?.process
      if (process?.alive !== true) return
      forAWhile(
        () => process.pause(),
        () => process.resume(),
      )
      return
    }
    case 'cutOff':
    case 'deafServers':
    case 'serverPartition': {
      const pairs = pairsOf(cluster, fault.kind, server, amount)
      forAWhile(
        () => {
          for (const [from, to] of pairs) network.block(from, to)
        },
        () => {
          for (const [from, to] of pairs) network.unblock(from, to)
        },
      )
      return
    }
    case 'serverReset': {
      const streams = server.process?.alive === true ? server.process.peerNetwork?.streams() : []
      streams?.[Math.floor(amount * streams.length)]?.reset()
      return
    }
    case 'wallJump':
      server.clock.wallOffsetMs += Math.floor(amount)
      return
    case 'snapshot':
      if (server.isServing) void server.process?.journal?.snapshotNow()
  }
}

/** Some of the existing nodes, adjacent and far apart. */
function churnedPaths({ manyNodes }: Cluster): string[] {
  if (manyNodes === undefined) return []
  const few = ['/a/x0', '/a/x1', '/b/x0', '/b/x2']
  const step = Math.max(1, Math.floor(manyNodes / 7))
  const many = Array.from({ length: 7 }, (_, i) => `/a/large/n${i * step}`)
  return manyNodes === 0 ? few : [...few, ...many]
}

function handOver(cluster: Cluster): void {
  const { process } = leaderOf(cluster) ?? {}
  if (process?.paused !== false || !(process.peer instanceof EnsemblePeer)) return
  void process.peer.handOver().then((outcome) => {
    const how = 'leader' in outcome ? 'handed over' : `not handed over: ${outcome.problem}`
    cluster.recorder.count(how)
  })
}

/** Power fails everywhere at once, and comes back server by server. */
function blackout({ servers }: Cluster, forMs: number, amount: number): void {
  for (const [i, server] of servers.entries()) {
    server.disk.condition.slowness = 1
    server.crash('power fails')
    server.startLater((forMs * (1 + ((i + Math.floor(amount * 7)) % 3))) / 3)
  }
}

/** The directions between servers that are blocked. */
function pairsOf(
  { servers }: Cluster,
  kind: 'cutOff' | 'deafServers' | 'serverPartition',
  server: SimServer,
  amount: number,
): [string, string][] {
  const others = servers.filter((other) => other !== server)
  const one = others[Math.floor(amount * others.length)]!
  const whom = kind === 'cutOff' || amount < 0.3 ? others : [one]
  const toOthers = whom.map(({ name }): [string, string] => [server.name, name])
  const fromOthers = whom.map(({ name }): [string, string] => [name, server.name])
  if (kind !== 'deafServers') return [...toOthers, ...fromOthers]
  return amount * 10 - Math.floor(amount * 10) < 0.5 ? toOthers : fromOthers
}

/** Repairs everything: from now on there must be progress. */
export function heal(cluster: Cluster): void {
  cluster.network.healAll()
  for (const server of cluster.servers) {
    const { condition } = server.disk
    condition.slowness = condition.snapshotSlowness = 1
    condition.isFull = false
    condition.failsNextSync = false
    condition.flipChance = 0
    condition.configRefuses = undefined
    condition.callsUntilCrash = Infinity
    condition.crashesAt = condition.failsNext = condition.crashesInTakeover = undefined
    server.process?.resume()
    server.startLater(0)
  }
  cluster.isHealed = true
  cluster.recorder.trace('everything heals')
}
