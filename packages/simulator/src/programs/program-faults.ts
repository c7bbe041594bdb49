/** Faults of runs with programs: those of servers, and those of the programs. */
import { xids } from '@zabra/protocol'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import { inject } from '../faults/inject.ts'
import { leaderOf } from '../faults/leader-of.ts'
import { drawFaults, drawHandOvers, type Fault } from '../faults/schedule.ts'
import type { Random } from '../world/random.ts'
import type { Program } from './program.ts'

const weights = {
  programPause: 5,
  programKill: 3,
  programPower: 2,
  programReset: 8,
  programPartition: 4,
  programDeaf: 3,
  programUnheard: 3,
  oneServerOnly: 4,
} as const
const pollMs = 10
const staleMsMax = 8000
const staleMoveMs = 80
/** About the length of two notifications. */
const tornBytes = 80
/**
 * Drawn separately: programs connect to a leader that cannot commit, or receive only a part of
 * several notifications.
 */
type ProgramFaultKind = keyof typeof weights | 'busyLeader' | 'programTorn'

/** A fault of one program. */
export interface ProgramFault {
  readonly atMs: number
  readonly kind: ProgramFaultKind
  readonly forMs: number
  readonly program: number
  /** At least 0, less than 1. */
  readonly amount: number
}

export type AnyFault = Fault | ProgramFault

export interface FaultOptions {
  readonly durationMs: number
  readonly isEnsemble: boolean
  readonly programs: number
}

/** Some runs use few kinds of faults only, some none at all. */
export function drawAllFaults(random: Random, options: FaultOptions): AnyFault[] {
  const { durationMs, isEnsemble, programs } = options
  const counts = random.fork('counts')
  if (counts.chance(0.05)) return []
  const faults = counts.between(0, 10)
  const ofServers = drawFaults(random, { durationMs, faults, clients: 1, isEnsemble })
  const handOvers = isEnsemble ? drawHandOvers(random.fork('hand-overs'), { durationMs }) : []
  const ofPrograms = drawOfPrograms(random.fork('programs'), durationMs, programs)
  const busy = isEnsemble ? drawBusyLeaders(random.fork('busy leaders'), durationMs) : []
  const torn = drawTorn(random.fork('torn'), durationMs, programs)
  const all = [...ofServers, ...handOvers, ...ofPrograms, ...busy, ...torn]
  return all.toSorted((a, b) => a.atMs - b.atMs)
}

function drawBusyLeaders(random: Random, durationMs: number): ProgramFault[] {
  if (!random.chance(0.4)) return []
  return Array.from({ length: random.between(1, 4) }, () => ({
    atMs: 100 + random.next() * durationMs,
    kind: 'busyLeader',
    forMs: random.between(50, 400),
    program: 0,
    amount: 0,
  }))
}

/** Many, because a lost notification shows only if the same node does not change again. */
function drawTorn(random: Random, durationMs: number, programs: number): ProgramFault[] {
  if (!random.chance(0.4)) return []
  return Array.from({ length: random.between(4, 24) }, () => ({
    atMs: 100 + random.next() * durationMs,
    kind: 'programTorn',
    forMs: 0,
    program: random.between(0, programs - 1),
    amount: random.next(),
  }))
}

function drawOfPrograms(random: Random, durationMs: number, programs: number): ProgramFault[] {
  const share = random.chance(0.5) ? 1 : 0.4
  const kinds = (Object.keys(weights) as (keyof typeof weights)[]).filter(() =>
    random.chance(share),
  )
  if (kinds.length === 0) return []
  const ofRun = Object.fromEntries(kinds.map((kind) => [kind, weights[kind]])) as Record<
    keyof typeof weights,
    number
  >
  return Array.from({ length: random.between(0, 12) }, () => ({
    atMs: 100 + random.next() * durationMs,
    kind: random.weighted(ofRun),
    forMs: random.between(10, random.chance(0.3) ? 6000 : 1000),
    program: random.between(0, programs - 1),
    amount: random.next(),
  }))
}

export function injectAny(cluster: Cluster, programs: readonly Program[], fault: AnyFault): void {
  if (fault.kind === 'busyLeader') {
    sendToBusy(cluster, programs, fault.forMs)
    return
  }
  if ('program' in fault) {
    injectProgram(cluster, programs[fault.program]!, fault)
    return
  }
  const leader = fault.kind === 'staleLeader' ? leaderOf(cluster) : undefined
  inject(cluster, fault)
  if (leader !== undefined) sendToStale(cluster, leader, programs)
}

/**
 * Packets of the leader to the others are delayed: requests forwarded to it are proposed and not
 * committed. Meanwhile the clients of the others connect to the leader.
 */
function sendToBusy(cluster: Cluster, programs: readonly Program[], forMs: number): void {
  const { recorder, servers } = cluster
  const leader = leaderOf(cluster)
  if (leader === undefined) return
  recorder.count('fault: busyLeader')
  recorder.trace(`fault: busyLeader (${forMs} ms, ${leader.name})`)
  const others = servers.filter((server) => server !== leader)
  cutFor(
    cluster,
    forMs,
    others.map(({ name }) => [leader.name, name] as const),
  )
  moveSome(cluster, programs, forMs / 4)
}

function cutFor(
  { world, network }: Cluster,
  forMs: number,
  pairs: readonly (readonly [string, string])[],
): void {
  for (const [from, to] of pairs) network.block(from, to)
  world.after(forMs, () => {
    for (const [from, to] of pairs) network.unblock(from, to)
  })
}

/**
 * When the stale leader resumes, programs that know newer state move, some of them to this leader.
 */
function sendToStale(cluster: Cluster, leader: SimServer, programs: readonly Program[]): void {
  const { world } = cluster
  const { process } = leader
  const untilMs = world.nowMs + staleMsMax
  const poll = (): void => {
    if (process?.paused === true && world.nowMs < untilMs) world.after(pollMs, poll)
    else moveSome(cluster, programs, staleMoveMs)
  }
  world.after(pollMs, poll)
}

/** Each time they move to another server. */
function moveSome({ world }: Cluster, programs: readonly Program[], everyMs: number): void {
  for (const times of [1, 2, 3]) {
    world.after(everyMs * times, () => {
      for (const program of programs) program.process?.resetConnections()
    })
  }
}

function injectProgram(cluster: Cluster, program: Program, fault: ProgramFault): void {
  const { world, recorder, servers } = cluster
  const { kind, forMs, amount } = fault
  recorder.count(`fault: ${kind}`)
  recorder.trace(`fault: ${kind} (${amount.toFixed(2)}, ${forMs} ms, ${program.name})`)
  const server = servers[Math.floor(amount * servers.length)]!
  const cut = (pairs: readonly (readonly [string, string])[]): void => cutFor(cluster, forMs, pairs)
  const to = servers.map(({ name }) => [program.name, name] as const)
  const from = servers.map(({ name }) => [name, program.name] as const)
  switch (kind) {
    case 'programPause': {
      const { process } = program
      process?.pause()
      world.after(forMs, () => process?.resume())
      return
    }
    case 'programKill':
    case 'programPower':
      program.die(kind === 'programKill' ? 'killed' : 'without power')
      world.after(forMs, () => program.start())
      return
    case 'programReset':
      program.process?.resetConnections()
      return
    case 'programTorn':
      program.process?.tearConnections(amount < 0.3 ? isLong : isOfSeveralNews)
      return
    case 'programPartition':
      cut([...to, ...from])
      return
    case 'programDeaf':
      cut(from)
      return
    case 'programUnheard':
      cut(to)
      return
    case 'oneServerOnly':
      cut([...to, ...from].filter((pair) => !pair.includes(server.name)))
  }
}

function isLong(piece: Uint8Array): boolean {
  return piece.length >= tornBytes
}

/** Whether a piece holds more than one notification, which usually come from one transaction. */
function isOfSeveralNews(piece: Uint8Array): boolean {
  return (
    isLong(piece) && new DataView(piece.buffer, piece.byteOffset).getInt32(4) === xids.notification
  )
}

/** Repairs all programs. */
export function healPrograms(programs: readonly Program[]): void {
  for (const program of programs) {
    program.process?.resume()
    program.start()
  }
}
