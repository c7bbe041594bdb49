import type { DatabaseOptions, JournalOptions, Membership, PeerOptions } from '@zabra/core'
import type { EnsembleOptions } from '@zabra/core'
import type { Random } from '../world/random.ts'
import type { EnsembleSettings } from './join-ensemble.ts'
import type { Stranger } from './shape.ts'

export const dataDirectory = '/data/version-2'
export const logDirectory = '/log/version-2'

/** The configuration of one simulated server: small limits, so that rare events happen often. */
export interface ServerOptions {
  readonly peer: PeerOptions
  readonly journal: JournalOptions
  readonly database: DatabaseOptions
  readonly preAllocBytes: number
  /** `no`: written data survives a crash of the process, but not a power failure. */
  readonly forceSync: boolean
  readonly tickPeriodMs: number
  /** Whether snapshots are written by the rules of Apache ZooKeeper. */
  readonly writesAsApache: boolean
  /** A path whose usage is counted. */
  readonly quota: string
  /**
   * The tick while it looks for a leader, or joins one: that involves waits of a few hundred ms.
   */
  readonly electionTickPeriodMs: number
  /** Undefined for a standalone server. */
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
  | 'readOnlyMode'
>

/** The schemes of the simulated authenticator. */
export const schemes: ReadonlySet<string> = new Set(['ip', 'digest', 'super'])

/** Trees that the workload writes to, and a path that never exists. */
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

/** In most runs no client reaches the limits; in the others every reply or request exceeds one. */
function drawLimits(random: Random): PeerOptions['limits'] {
  if (random.chance(0.5)) return {}
  return {
    unreadBytes: random.pick([0, 100, 1000, 1024 * 1024]),
    outstandingPerConnection: random.pick([1, 3, 1000]),
    outstandingBytes: random.pick([0, 10_000, 128 * 1024 * 1024]),
    outstandingBytesPerConnection: random.pick([0, 10_000, 32 * 1024 * 1024]),
  }
}

/** The same options for each server of an ensemble, except its number. */
export function asEnsemble(
  options: ServerOptions,
  membership: Membership,
  random: Random,
  strangers: readonly Stranger[] | undefined,
  hasObserverMasters?: boolean,
  hasLocalSessions?: boolean | 'kept',
): ServerOptions[] {
  const initLimit = random.pick([5, 10])
  const syncLimit = random.pick([2, 5])
  const commitLogCount = random.pick([3, 20, 500])
  const counters = random.fork('counters')
  const counterMax = counters.chance(0.3) ? BigInt(counters.pick([20, 70, 200])) : undefined
  const observerMasters = hasObserverMasters ?? random.fork('observer masters').chance(0.5)
  const logBytesMax = random.chance(0.3) ? 1000 : options.journal.logBytesMax
  const isChanging = strangers !== undefined
  const localSessions = hasLocalSessions ?? random.fork('local sessions').chance(0.1)
  const forceSync = random.fork('forced syncs').chance(0.93)
  const zab = drawZab(random.fork('knobs'))
  const members = [...membership.servers.keys()].map((self) => ({ self, membership }))
  const rules = { ...options.peer.rules, reconfigEnabled: isChanging }
  return [...members, ...(strangers ?? [])].map(({ self, membership: known }) => ({
    ...options,
    peer: { ...options.peer, rules, serverId: Number(self) },
    journal: { ...options.journal, logBytesMax },
    forceSync,
    // These disks are copied often, to see what a power failure would leave.
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
      localSessions: localSessions !== false,
      upgradesSessions: localSessions !== 'kept',
      zab,
    },
  }))
}

/** Draws how a leader synchronizes learners: in small steps, in unusual ways, not all at once. */
function drawZab(random: Random): ZabKnobs {
  return {
    ...(random.chance(0.6) ? { sliceBytes: random.pick([100, 500, 3000]) } : {}),
    ...(random.chance(0.05) ? { alwaysSendSnapshot: true } : {}),
    ...(random.chance(0.1) ? { syncsMax: { snaps: 1, diffs: random.between(1, 2) } } : {}),
    ...(random.chance(0.5) ? { snapshotSizeFactor: random.pick([-1, 0, 0, 10]) } : {}),
    ...(random.chance(0.1) ? { learnerQueueBytesMax: random.pick([2000, 10_000]) } : {}),
    ...(random.chance(0.1) ? { leaderServes: false } : {}),
    ...(random.fork('read-only mode').chance(0.12) ? { readOnlyMode: true } : {}),
  }
}
