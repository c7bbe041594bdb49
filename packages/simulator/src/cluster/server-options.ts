import type { DatabaseOptions, JournalOptions, Membership, PeerOptions } from '@zabra/core'
import type { EnsembleOptions } from '@zabra/core'
import type { Random } from '../world/random.ts'
import type { EnsembleSettings } from './join-ensemble.ts'
import type { Stranger } from './shape.ts'

export const dataDirectory = '/data/version-2'
export const logDirectory = '/log/version-2'

/** How one simulated server is configured: small limits, so that everything happens often. */
export interface ServerOptions {
  readonly peer: PeerOptions
  readonly journal: JournalOptions
  readonly database: DatabaseOptions
  readonly preAllocBytes: number
  /** `no`: what was written is there after a crash of the process, and not after one of the machine. */
  readonly forceSync: boolean
  readonly tickPeriodMs: number
  /** Snapshots are written by the rules of Apache ZooKeeper. */
  readonly writesAsApache: boolean
  /** A path of which the use is counted. */
  readonly quota: string
  /** While it looks for a leader, or joins one: that is decided by waits of a few hundred ms. */
  readonly electionTickPeriodMs: number
  /** Undefined for a server on its own. */
  readonly ensemble: EnsembleSettings | undefined
}

export type ZabKnobs = Pick<
  EnsembleOptions,
  | 'sliceBytes'
  | 'confirmSyncs'
  | 'alwaysSendSnapshot'
  | 'syncsMax'
  | 'snapshotSizeFactor'
  | 'learnerQueueBytesMax'
  | 'leaderServes'
>

/** The schemes that the simulated authenticator knows. */
export const schemes: ReadonlySet<string> = new Set(['ip', 'digest', 'super'])

/** Of trees that the workload writes to, and one that is never there. */
const quotas = ['/a', '/b', '/t', '/nowhere']

export function drawServerOptions(random: Random, neverUsedMsMax: number): ServerOptions {
  const tickMs = random.pick([200, 500, 1000])
  const knobs = random.fork('knobs')
  return {
    peer: {
      limits: drawLimits(random.fork('limits')),
      serverId: 1,
      tickMs,
      sessionTimeoutMsMin: 2 * tickMs,
      sessionTimeoutMsMax: 20 * tickMs,
      outstandingMax: random.pick([2, 8, 1000]),
      frameBytesMax: 1024 * 1024,
      sessionlessTimeoutMs: 5 * tickMs,
      requiredSchemes: [],
      rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
      reclaim: { checkIntervalMs: 2000, perMinuteMax: 10_000, neverUsedMsMax },
    },
    journal: {
      snapshotDir: dataDirectory,
      logDir: random.chance(0.5) ? dataDirectory : logDirectory,
      snapCount: random.pick([10, 40, 200, 10_000]),
      snapBytes: random.chance(0.2) ? 4096 : undefined,
      logBytesMax: random.chance(0.2) ? 2048 : undefined,
      slowSyncMs: 1000,
      retainCount: random.pick([1, 3]),
      retainBytes: 0,
      purges: random.chance(0.7),
      snapshotMethod: random.chance(0.2) ? 'snappy' : 'plain',
      compression: undefined,
      ...(knobs.chance(0.6) ? { snapshotSliceBytes: knobs.pick([100, 400, 2000]) } : {}),
    },
    database: {
      extendedTypes: true,
      digests: knobs.chance(0.9),
      hashSeed: random.between(1, 0x7ffffffe),
      acl: { skipAcl: false, schemes },
    },
    forceSync: knobs.chance(0.9),
    preAllocBytes: random.pick([0, 4096, 65_536, 65_536, 2 * 1024 * 1024]),
    tickPeriodMs: Math.floor(tickMs / 4),
    writesAsApache: random.fork('snapshots').chance(0.3),
    quota: random.fork('quota').pick(quotas),
    electionTickPeriodMs: 20,
    ensemble: undefined,
  }
}

/** Mostly no client reaches them; otherwise each reply, or each request, is one too many. */
function drawLimits(random: Random): PeerOptions['limits'] {
  if (random.chance(0.5)) return {}
  return {
    unreadBytes: random.pick([0, 100, 1000, 1024 * 1024]),
    outstandingPerConnection: random.pick([1, 3, 1000]),
    outstandingBytes: random.pick([0, 10_000, 128 * 1024 * 1024]),
    outstandingBytesPerConnection: random.pick([0, 10_000, 32 * 1024 * 1024]),
  }
}

/** The same for each server of an ensemble, but for its number. */
export function asEnsemble(
  options: ServerOptions,
  membership: Membership,
  random: Random,
  strangers: readonly Stranger[] | undefined,
  hasObserverMasters?: boolean,
): ServerOptions[] {
  const initLimit = random.pick([5, 10])
  const syncLimit = random.pick([2, 5])
  const commitLogCount = random.pick([3, 20, 500])
  const counters = random.fork('counters')
  const counterMax = counters.chance(0.3) ? BigInt(counters.pick([20, 70, 200])) : undefined
  const observerMasters = hasObserverMasters ?? random.fork('observer masters').chance(0.5)
  const logBytesMax = random.chance(0.3) ? 1000 : options.journal.logBytesMax
  const isChanging = strangers !== undefined
  const forceSync = random.fork('forced syncs').chance(0.93)
  const zab = drawZab(random.fork('knobs'))
  const members = [...membership.servers.keys()].map((self) => ({ self, membership }))
  const rules = { ...options.peer.rules, reconfigEnabled: isChanging }
  return [...members, ...(strangers ?? [])].map(({ self, membership: known }) => ({
    ...options,
    peer: { ...options.peer, rules, serverId: Number(self) },
    journal: { ...options.journal, logBytesMax },
    forceSync,
    // Their disks are copied often, to see what a power failure would leave.
    preAllocBytes: Math.min(options.preAllocBytes, 65_536),
    tickPeriodMs: Math.min(options.tickPeriodMs, 100),
    ensemble: {
      self,
      membership: known,
      initLimit,
      syncLimit,
      commitLogCount,
      counterMax,
      isChanging,
      observerMasters,
      zab,
    },
  }))
}

/** How a leader brings others up: in small steps, in other ways than it would choose, not all at once. */
function drawZab(random: Random): ZabKnobs {
  return {
    ...(random.chance(0.6) ? { sliceBytes: random.pick([100, 500, 3000]) } : {}),
    ...(random.chance(0.05) ? { alwaysSendSnapshot: true } : {}),
    ...(random.chance(0.1) ? { syncsMax: { snaps: 1, diffs: random.between(1, 2) } } : {}),
    ...(random.chance(0.5) ? { snapshotSizeFactor: random.pick([-1, 0, 0, 10]) } : {}),
    ...(random.chance(0.1) ? { learnerQueueBytesMax: random.pick([2000, 10_000]) } : {}),
    ...(random.chance(0.1) ? { leaderServes: false } : {}),
  }
}
