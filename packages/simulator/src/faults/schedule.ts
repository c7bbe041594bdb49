import { takeoverLost } from '../world/sim-disk.ts'
import type { Random } from '../world/random.ts'

/** A fault at one moment, and its duration. */
export interface Fault {
  readonly atMs: number
  readonly kind: FaultKind
  readonly forMs: number
  /** The client that it affects, if any. */
  readonly client: number
  /** A number that the fault needs: of calls, of milliseconds, or a factor. */
  readonly amount: number
}

const weights = {
  powerFailure: 5,
  kill: 3,
  stop: 2,
  crashAtCall: 8,
  crashAtKind: 6,
  failedCall: 3,
  churn: 5,
  pause: 3,
  diskFull: 2,
  failedSync: 2,
  slowDisk: 2,
  bitFlips: 2,
  reset: 5,
  partition: 2,
  deafClient: 2,
  deafServer: 2,
  wallJump: 2,
  snapshot: 4,
} as const
/** Faults between servers. */
const ensembleWeights = {
  ...weights,
  leaderCrash: 8,
  leaderPause: 3,
  strandedLeader: 16,
  crashInTakeover: 6,
  twoHistories: 5,
  followerAway: 5,
  staleLeader: 5,
  lateFollower: 6,
  withdrawnAck: 6,
  emptied: 3,
  blackout: 4,
  cutOff: 5,
  deafServers: 4,
  serverPartition: 4,
  serverReset: 5,
} as const
/** The last five are drawn separately, so that the others stay as they are. */
export type FaultKind =
  | keyof typeof ensembleWeights
  | 'handOver'
  | 'damage'
  | 'configRefused'
  | 'visitors'
  | 'wrongTree'

export interface ScheduleOptions {
  readonly durationMs: number
  readonly faults: number
  readonly clients: number
  readonly isEnsemble: boolean
}

/** A random schedule, drawn in advance so that it can be shrunk. Some runs use few kinds only. */
export function drawFaults(random: Random, options: ScheduleOptions): Fault[] {
  const { durationMs, faults, clients, isEnsemble } = options
  const chosen = random.chance(0.5) ? 1 : 0.4
  const possible: Partial<Record<FaultKind, number>> = isEnsemble ? ensembleWeights : weights
  const kinds = (Object.keys(possible) as FaultKind[]).filter(() => random.chance(chosen))
  if (kinds.length === 0) return []
  const ofRun = Object.fromEntries(kinds.map((kind) => [kind, possible[kind]])) as Record<
    FaultKind,
    number
  >
  return Array.from({ length: faults }, (): Fault => {
    const kind = random.weighted(ofRun)
    return {
      atMs: 100 + random.next() * durationMs,
      kind,
      forMs: random.between(10, random.chance(0.3) ? 6000 : 1000),
      client: random.between(0, clients - 1),
      amount: amountOf(kind, random),
    }
  }).toSorted((a, b) => a.atMs - b.atMs)
}

const favoredMax = 4

/** Additional faults of some kinds. */
export function drawFavored(
  random: Random,
  kinds: readonly FaultKind[],
  { clients, durationMs }: Pick<ScheduleOptions, 'clients' | 'durationMs'>,
): Fault[] {
  if (kinds.length === 0) return []
  return Array.from({ length: random.between(1, favoredMax) }, (): Fault => {
    const kind = random.pick(kinds)
    return {
      atMs: 100 + random.next() * durationMs,
      kind,
      forMs: random.between(10, 3000),
      client: random.between(0, clients - 1),
      amount: amountOf(kind, random),
    }
  })
}

/** In some runs the leader is sometimes asked to hand over leadership. */
export function drawHandOvers(random: Random, { durationMs }: { durationMs: number }): Fault[] {
  if (!random.chance(0.3)) return []
  return Array.from({ length: random.between(1, 4) }, () => ({
    atMs: 100 + random.next() * durationMs,
    kind: 'handOver' as const,
    forMs: 0,
    client: 0,
    amount: 0,
  }))
}

/** Some runs have disks that do not keep what was written, or configuration files that cannot be. */
export function drawWindows(
  random: Random,
  {
    durationMs,
    isEnsemble,
    isChanging,
    hasReadOnlyMode,
  }: { durationMs: number; isEnsemble: boolean; isChanging: boolean; hasReadOnlyMode: boolean },
): Fault[] {
  const drawn: Fault[] = []
  const draw = (kind: FaultKind, chance: number, most: number): void => {
    const own = random.fork(kind)
    if (!own.chance(chance)) return
    for (let left = own.between(1, most); left > 0; left--) {
      const atMs = 100 + own.next() * durationMs
      drawn.push({ atMs, kind, forMs: own.between(10, 3000), client: 0, amount: own.next() })
    }
  }
  draw('damage', 0.15, 4)
  if (isEnsemble) draw('wrongTree', 0.08, 2)
  if (hasReadOnlyMode) draw('visitors', 0.7, 2)
  if (isChanging) {
    draw('configRefused', 0.25, 4)
    draw('emptied', 0.25, 3)
  }
  return drawn
}

function amountOf(kind: FaultKind, random: Random): number {
  switch (kind) {
    case 'crashAtCall':
      return random.between(1, random.chance(0.5) ? 8 : 60)
    case 'crashInTakeover':
      return random.chance(0.4) ? takeoverLost + random.next() : random.between(0, 11)
    case 'crashAtKind':
      // The integer part selects the kind, the fraction how many packets get through.
      return random.between(0, 11) + random.pick([0, 0, 0.1, 0.2, 0.3])
    case 'slowDisk':
      return random.between(5, 100)
    case 'wallJump':
      return random.between(-20_000, 20_000)
    default:
      return random.next()
  }
}
