import { join } from 'node:path'
import type { Diagnostics } from './diagnostics.ts'
import type { EnsembleConfig } from './ensemble-config.ts'
import { readText } from './files.ts'
import type { Values } from './keys.ts'
import { readMembership } from './membership.ts'
import type { Membership } from './membership.ts'
import type { EnsembleServer } from './server-lines.ts'
import type { Sources } from './sources.ts'

export interface EnsembleFindings {
  /** Undefined for a standalone server. */
  readonly ensemble: EnsembleConfig | undefined
  /** This server's own line, if it has one: it may contain the client port. */
  readonly self: EnsembleServer | undefined
}

const alone: EnsembleFindings = { ensemble: undefined, self: undefined }

/** Decides whether this is a member of an ensemble, and reads the configuration of the ensemble. */
export function readEnsemble(
  sources: Sources,
  values: Values,
  report: Diagnostics,
): EnsembleFindings {
  const membership = readMembership(sources, values, report)
  if (!checkCounts(membership, values, report)) return alone
  const { servers, lines } = membership
  const isEnsemble = servers.size > 1 || (servers.size === 1 && !values.standaloneEnabled)
  if (servers.size === 0) return alone
  const serverId = readServerId(values, isEnsemble, sources, report)
  if (!isEnsemble) {
    const [only] = servers.values()
    const [line] = lines.values()
    report.notice(line?.origin, 'is the only member: the server runs on its own')
    const self = serverId === undefined || serverId === only?.id ? only : undefined
    return { ensemble: undefined, self }
  }
  const { initLimit, syncLimit } = values
  for (const name of ['initLimit', 'syncLimit'] as const) {
    if (!values[name]) report.error({ key: name }, 'must be set in an ensemble')
  }
  if (serverId === undefined || !initLimit || !syncLimit) return alone
  const self = servers.get(serverId)
  if (self === undefined) {
    report.error({ key: 'myid' }, `there is no line server.${serverId} for this server`)
    return alone
  }
  if (values.peerType !== undefined && values.peerType !== self.role) {
    const message = `differs from the role in server.${serverId}, which takes precedence: ${self.role}`
    report.warning(sources.given.get('peerType')?.origin, message)
  }
  const limits = { initLimit, syncLimit }
  return { self, ensemble: ensembleConfig(serverId, self, membership, values, limits) }
}

/** The rules of Apache ZooKeeper about the number of servers; false if the ensemble cannot run. */
function checkCounts(membership: Membership, values: Values, report: Diagnostics): boolean {
  const roles = [...membership.servers.values()].map(({ role }) => role)
  const voters = roles.filter((role) => role === 'participant').length
  const observers = roles.length - voters
  const [line] = membership.lines.values()
  if (voters === 0 && observers > 0) {
    report.error(line?.origin, 'observers need participants to follow, and there are none')
    return false
  }
  if (voters === 0 && !values.standaloneEnabled) {
    report.error({ key: 'standaloneEnabled' }, 'is false, so at least one server line is needed')
    return false
  }
  if (voters === 1 && observers > 0 && values.standaloneEnabled) {
    report.error(line?.origin, 'one participant alone cannot lead observers')
    return false
  }
  if (voters === 2) {
    const message = 'two voting servers cannot tolerate the loss of either; three can'
    report.warning(line?.origin, message)
  } else if (voters > 2 && voters % 2 === 0) {
    const message = `${voters} voting servers tolerate no more losses than ${voters - 1}`
    report.warning(line?.origin, message)
  }
  return true
}

function readServerId(
  values: Values,
  required: boolean,
  sources: Sources,
  report: Diagnostics,
): number | undefined {
  if (values.myid !== undefined) return checkTtlIds(values.myid, values, sources, report)
  if (values.dataDir === undefined) return undefined
  const file = join(values.dataDir, 'myid')
  const read = readText(file)
  if ('problem' in read) {
    if (required || !read.missing)
      report.error({ file }, `${read.problem}; it must hold the number of this server`)
    return undefined
  }
  const [first = ''] = read.text.split(/\r?\n/)
  const id = /^[+]?\d{1,15}$/.test(first.trim()) ? Number(first) : undefined
  if (id === undefined) {
    report.error({ file, line: 1 }, `expected a whole number, got ${JSON.stringify(first)}`)
    return undefined
  }
  return checkTtlIds(id, values, sources, report)
}

/** The top byte 0xff of a session id marks TTL nodes, so no server may put it there. */
function checkTtlIds(id: number, values: Values, sources: Sources, report: Diagnostics): number {
  const asked = sources.given.get('extendedTypesEnabled')
  if (id > 254 && values.extendedTypesEnabled && asked !== undefined) {
    report.error(asked.origin, `needs server numbers up to 254, and this server is ${id}`)
  }
  return id
}

function ensembleConfig(
  serverId: number,
  self: EnsembleServer,
  { servers, hierarchy, dynamicConfig }: Membership,
  values: Values,
  { initLimit, syncLimit }: { initLimit: number; syncLimit: number },
): EnsembleConfig {
  const handshakeMs = values.quorumCnxnTimeoutMs
  return {
    serverId,
    role: self.role,
    servers,
    hierarchy,
    dynamicConfig,
    initLimit,
    syncLimit,
    dialLimit: values.connectToLearnerMasterLimit || initLimit,
    standaloneEnabled: values.standaloneEnabled,
    leaderServes: values.leaderServes,
    localSessions: values.localSessionsEnabled
      ? { upgrading: values.localSessionsUpgradingEnabled }
      : undefined,
    readOnlyMode: values['readonlymode.enabled'],
    listenOnAllAddresses: values.quorumListenOnAllIPs,
    observerMasterPort: values.observerMasterPort || undefined,
    commitLogCount: values.commitLogCount,
    snapshotSizeFactor: values.snapshotSizeFactor,
    alwaysSendSnapshot: values.forceSnapshotSync,
    confirmSyncs: values['sync.confirmLeader'],
    admitsStrangers: values['quorum.admitStrangers'],
    resetsAcceptedEpoch: values['recovery.resetAcceptedEpoch'],
    connectTimeoutMs: values.cnxTimeout,
    handshakeTimeoutMs: handshakeMs > 0 ? handshakeMs : values.tickTime * syncLimit,
    electionPortBindRetry: values.electionPortBindRetry,
    electionTiming: {
      notificationMinMs: values['fastleader.minNotificationInterval'],
      notificationMaxMs: values['fastleader.maxNotificationInterval'],
    },
    dialPauseMs: values.leaderConnectDelayDuringRetryMs,
    syncsMax: {
      snaps: values['leader.maxConcurrentSnapSyncs'],
      diffs: values['leader.maxConcurrentDiffSyncs'],
    },
    reconnectDelayMs: values['observer.reconnectDelayMs'],
    observerMaster: values.observerMasterPort
      ? { queueBytesMax: values['observerMaster.sizeLimit'] }
      : undefined,
    tcpKeepAlive: values.tcpKeepAlive,
    multiAddressEnabled: values['multiAddress.enabled'],
  }
}
