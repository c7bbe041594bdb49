import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  CommittedLog,
  copyRecords,
  defaultLimits,
  describeRecovery,
  isRecoveryWarning,
  faultCode,
  Journal,
  loadDatabase,
  MemoryDisk,
  Peer,
  recordInto,
  RestoreRefusal,
  Summary,
  TxnLog,
  type Authenticator,
  type DatabaseOptions,
  type JournalOptions,
  type Disk,
  type HostPort,
  type PeerBase,
  type PeerOptions,
  type PeerPorts,
  type RecordRange,
  type RecoveryOptions,
  type SessionPasswords,
  type TraceEvent,
} from '@zabra/core'
import type { ServerState } from '@zabra/protocol'
import { startAdmin, type AdminServer } from './admin/admin-server.ts'
import { makeWords } from './admin/words.ts'
import { openAuditLog, type AuditLog } from './audit/audit-log.ts'
import { makeAuthenticator } from './auth/authenticator.ts'
import { sessionPasswordsOf } from './auth/session-passwords.ts'
import { x509Identities } from './auth/x509.ts'
import type { ServerConfig } from './config/config.ts'
import { zlibCompression as compression } from './disk/zlib-compression.ts'
import { lockDirectories } from './disk/directories.ts'
import type { DirectoryLock } from './disk/lock.ts'
import { NodeDisk } from './disk/node-disk.ts'
import { describeJournal, describeTrace } from './describe-trace.ts'
import { nodeHost } from './node-host.ts'
import { IdlePoll } from './idle-poll.ts'
import { joinEnsemble, type JoinedEnsemble } from './ensemble.ts'
import { every } from './every.ts'
import type { Logger } from './logger.ts'
import { ClientListener, type ListenOptions } from './net/client-listener.ts'
import type { Speech } from './net/client-port.ts'
import { limitRate } from './rate-limited-logger.ts'
import { receiveSnapshot } from './restore.ts'
import { nameProblem } from './tls/peer-names.ts'
import { TlsAcceptor, type HandshakeCounts } from './tls/tls-acceptor.ts'
import type { TlsContext } from './tls/tls-context.ts'
import { everyContext, openTlsContexts, type TlsContexts } from './tls/tls-contexts.ts'
import type { ServerView } from './server-view.ts'
import { StartError } from './start-error.ts'
import { touchMemory } from './touch-memory.ts'
import { Turn } from './turn.ts'

const formatFolder = 'version-2'
/** Session, xid and operation, before a request on its way to the leader. */
const forwardedHeaderBytes = 16
/** So long after a start most clients are back. */
const calmAfterMs = 10_000

/** What a server runs on. */
export interface Host {
  readonly logger: Logger
  /** Keep nothing: all files are in memory and go with the server. */
  readonly inMemory: boolean
}

/** A server that serves. */
export class RunningServer implements ServerView {
  readonly config: ServerConfig
  readonly peer: PeerBase
  readonly startedWallMs = Date.now()
  readonly adminCounts = {
    snapshotsRateLimited: 0,
    restoresRateLimited: 0,
    restoreFailures: 0,
    restoreMs: new Summary(),
  }
  traceMask = 306n
  /** Rejects when the server cannot go on, because its disk failed for example. */
  readonly failed: Promise<never>
  private readonly parts: Parts
  private readonly ticker: NodeJS.Timeout
  private readonly endPurges: (() => void) | undefined
  private admin: AdminServer | undefined
  private stopping: Promise<void> | undefined
  isRestoring = false
  private listening: ClientListener | undefined
  private acceptor: TlsAcceptor | undefined

  private constructor(config: ServerConfig, parts: Parts, failed: Promise<never>) {
    this.config = config
    this.parts = parts
    this.peer = parts.peer
    this.failed = failed
    // Sessions end on whole ticks of tickTime; looking more often makes them end on time.
    // An election is decided by waits of a few hundred milliseconds, so it is looked at often.
    const periodMax = config.ensemble === undefined ? 500 : 20
    const period = Math.max(10, Math.min(periodMax, Math.floor(config.tickTime / 4)))
    this.ticker = setInterval(() => {
      parts.turn.setTime()
      parts.peer.tick()
      if (parts.peer.hasBatch) parts.turn.schedule()
    }, period)
    const { intervalMs } = config.purge
    if (intervalMs > 0) this.endPurges = every(intervalMs, () => parts.journal.purgeSoon())
  }

  /** Loads the data directory and serves it. */
  static async start(config: ServerConfig, host: Host): Promise<RunningServer> {
    const { logger } = host
    const disk: Disk = host.inMemory ? new MemoryDisk() : new NodeDisk()
    const locks = host.inMemory ? [] : lockDirectories(config)
    let tls: TlsContexts | undefined
    let audit: AuditLog | undefined
    try {
      tls = openTlsContexts(config, logger)
      audit = await openAuditLog(config, logger)
      const parts = await load(config, host, disk, locks, { tls, audit })
      const server = new RunningServer(config, parts.parts, parts.failed)
      try {
        await server.listen(parts.parts.logger)
        parts.parts.audit?.started()
      } catch (error) {
        // That ends the audit log as well.
        audit = undefined
        await server.stop()
        throw error
      }
      return server
    } catch (error) {
      await audit?.startFailed()
      for (const lock of locks) lock.release()
      for (const context of tls === undefined ? [] : everyContext(tls)) context.stop()
      throw error
    }
  }

  get clientPort(): number {
    return this.listening?.address?.port ?? 0
  }

  /** Where clients connect with TLS; 0 where they cannot. */
  get secureClientPort(): number {
    return this.listening?.secureAddress?.port ?? 0
  }

  /** `host:port[,host:port]`, as clients want it. */
  get connectString(): string {
    return connectString(this.config.clientPortAddress, this.clientPort)
  }

  /** The same for clients that speak TLS. */
  get secureConnectString(): string {
    const { tls, clientPortAddress } = this.config
    const address = tls.port === undefined ? clientPortAddress : tls.address
    return connectString(address, this.secureClientPort)
  }

  /** TLS handshakes with clients. */
  get handshakes(): HandshakeCounts {
    return this.acceptor?.counts ?? { underWay: 0, failed: 0 }
  }

  /** The certificates that are served. */
  get tlsContexts(): readonly TlsContext[] {
    return everyContext(this.parts.tls)
  }

  get adminAddress(): string | undefined {
    return this.admin?.url
  }

  /** Where a browser finds the console. */
  get consoleAddress(): string | undefined {
    return this.admin?.consoleUrl
  }

  /** Where Prometheus finds the metrics, when the provider of ZooKeeper is configured. */
  get metricsAddress(): string | undefined {
    return this.admin?.metricsUrl
  }

  get disk(): ServerView['disk'] {
    return this.parts.journal.stats
  }

  get sockets(): ServerView['sockets'] {
    return this.listening?.sockets ?? new Set()
  }

  get unreadBytes(): number {
    return this.listening?.output.bytes ?? 0
  }

  async directorySizes(): Promise<{ data: number; log: number }> {
    const { disk, snapshotDir, logDir } = this.parts
    const sizeOf = async (directory: string): Promise<number> =>
      (await disk.list(directory)).reduce((sum, { bytes }) => sum + bytes, 0)
    return { data: await sizeOf(snapshotDir), log: await sizeOf(logDir) }
  }

  snapshot(): ReturnType<ServerView['snapshot']> {
    return this.parts.journal.snapshotNow()
  }

  async handOver(): ReturnType<ServerView['handOver']> {
    const { ensemble } = this.parts
    return ensemble?.peer.handOver() ?? { problem: 'this server is on its own' }
  }

  openSnapshot(file: string): ReturnType<ServerView['openSnapshot']> {
    return this.parts.disk.openRead(`${this.parts.snapshotDir}/${file}`)
  }

  get storage(): ServerView['storage'] {
    const { disk, snapshotDir, logDir } = this.parts
    return { disk, snapshotDir, logDir }
  }

  async loggedZxid(): Promise<bigint> {
    const { db } = this.peer
    // The start of an epoch, which the last zxid may be, is in no log.
    const zxid = db.lastTxnZxid === 0n ? db.lastZxid : db.lastTxnZxid
    await this.peer.flush()
    return zxid
  }

  copyLog(range: RecordRange): ReturnType<ServerView['copyLog']> {
    const recordBytesMax = txnBytesMax(this.config)
    return copyRecords(this.parts.disk, this.storage, range, { recordBytesMax })
  }

  async restore(bytes: AsyncIterable<Uint8Array>): Promise<bigint> {
    if (this.isRestoring) throw new RestoreRefusal('another restore is under way')
    this.isRestoring = true
    try {
      const { disk, snapshotDir, dbOptions, journal } = this.parts
      const restored = await receiveSnapshot(bytes, disk, snapshotDir, dbOptions)
      await this.peer.restore(restored, journal)
      return restored.zxid
    } finally {
      this.isRestoring = false
    }
  }

  get authenticator(): ServerView['authenticator'] {
    return this.parts.authenticator
  }

  get passwords(): ServerView['passwords'] {
    return this.parts.passwords
  }

  get turn(): ServerView['turn'] {
    return this.parts.turn
  }

  get startup(): ServerView['startup'] {
    return this.parts.startup
  }

  get directories(): ServerView['directories'] {
    return { data: this.parts.snapshotDir, log: this.parts.logDir }
  }

  get isStopping(): boolean {
    return this.stopping !== undefined
  }

  /** Stops cleanly: everything acknowledged is on disk, every client's connection is ended. */
  stop(): Promise<void> {
    this.stopping ??= this.shutDown()
    return this.stopping
  }

  private async shutDown(): Promise<void> {
    const { journal, locks, ensemble, tls, audit } = this.parts
    clearInterval(this.ticker)
    for (const context of everyContext(tls)) context.stop()
    this.endPurges?.()
    this.listening?.stopAccepting()
    for (const socket of this.sockets) socket.pause()
    try {
      // The others wait for us to be gone; whatever does not concern them comes later.
      await ensemble?.stop()
      await this.admin?.stop()
      await journal.stop()
    } finally {
      await this.listening?.closeAll()
      await audit?.stopped()
      for (const lock of locks) lock.release()
    }
  }

  /** Takes connections of clients that speak TLS, where there are to be any. */
  private clientAcceptor(logger: Logger): TlsAcceptor | undefined {
    const { config, peer } = this
    const { clients: context } = this.parts.tls
    if (context === undefined) return undefined
    const { settings } = context
    const { clientAuth, clientHostnameVerification, allowReverseDnsLookup } = settings
    return new TlsAcceptor({
      context,
      clientAuth,
      allowHalfOpen: true,
      checkPeer: clientHostnameVerification
        ? (certificate, socket) =>
            nameProblem(certificate, socket, { hosts: [], mayLookUp: allowReverseDnsLookup })
        : undefined,
      onSecure: (socket, certificate) => {
        const proven =
          certificate === undefined ? [] : x509Identities(certificate, config.x509SuperUser)
        this.listening?.serveSecure(socket, proven)
      },
      onFailed: (address, reason) => {
        peer.stats.authFailures++
        logger.warn(`TLS handshake with client ${address} failed: ${reason}`)
      },
    })
  }

  private async listen(logger: Logger): Promise<void> {
    const { config, parts } = this
    const { peer, turn } = parts
    const words = makeWords(this)
    this.acceptor = this.clientAcceptor(logger)
    this.listening = new ClientListener(
      { peer, turn, words, logger, tls: this.acceptor },
      {
        ports: clientPorts(config),
        backlog: config.listenBacklog,
        perAddressMax: config.maxClientCnxns,
        connectionsMax: config.maxCnxns,
        keepAlive: config.tcpKeepAlive,
        detectionTimeoutMs: config.tls.settings.detectionTimeoutMs,
        unreadBytesMax: {
          perConnection: config.limits.unreadBytesMax ?? defaultLimits.unreadBytesMax,
          total: config.unreadBytesMax,
        },
      },
    )
    await this.listening.listen((speech, error) => clientPortError(config, speech, error))
    parts.ensemble?.onClientMoved((to) => this.moveClientPort(to, logger))
    const { administrators: context } = parts.tls
    const { acceptsPlain } = config.adminTls
    this.admin = await startAdmin(this, logger, context && { context, acceptsPlain })
    await parts.ensemble?.start(parts.fail)
  }

  /** A change of configuration may say where clients are to find us. */
  private moveClientPort({ host, port }: HostPort, logger: Logger): void {
    const { listening } = this
    if (listening === undefined || this.isStopping) return
    const now = listening.address
    if (now === undefined) return
    const { port: portNow, address: addressNow } = now
    const isEvery = (address: string | undefined): boolean =>
      address === undefined || address === '::' || address === '0.0.0.0'
    if (port === portNow && (host === addressNow || (isEvery(host) && isEvery(addressNow)))) return
    listening.move(port, isEvery(host) ? undefined : host).then(
      () => logger.info(`the client port is ${port} from now on`),
      (error: Error) => logger.error(`the client port stays ${portNow}: ${error.message}`),
    )
  }

  /** The role in the ensemble; undefined for a server on its own. */
  get ensembleState(): ServerState | undefined {
    return this.parts.ensemble?.peer.state
  }

  get ensemble(): ServerView['ensemble'] {
    const { config, parts } = this
    if (config.ensemble === undefined || parts.ensemble === undefined) return undefined
    const { config: membership, zabStats: stats, leadership } = parts.ensemble.peer
    return { config: config.ensemble, membership, stats, leadership }
  }
}

interface Parts {
  /** For all that clients can cause. */
  readonly logger: Logger
  readonly peer: PeerBase
  readonly ensemble: JoinedEnsemble | undefined
  readonly fail: (error: Error) => void
  readonly turn: Turn
  readonly journal: Journal
  readonly disk: Disk
  readonly locks: readonly DirectoryLock[]
  readonly snapshotDir: string
  readonly logDir: string
  readonly authenticator: Authenticator
  readonly passwords: SessionPasswords
  readonly tls: TlsContexts
  readonly audit: AuditLog | undefined
  readonly dbOptions: DatabaseOptions
  readonly startup: ServerView['startup']
}

async function load(
  config: ServerConfig,
  { logger: everyLine, inMemory }: Host,
  disk: Disk,
  locks: readonly DirectoryLock[],
  { tls, audit }: Pick<Parts, 'tls' | 'audit'>,
): Promise<{ parts: Parts; failed: Promise<never> }> {
  const logger = limitRate(everyLine)
  const snapshotDir = join(config.dataDir, formatFolder)
  const logDir = join(config.dataLogDir, formatFolder)
  const authenticator = makeAuthenticator({
    digestEnabled: config.digestAuthEnabled,
    digestAlgorithm: config.digestAlgorithm,
    superDigest: config.superDigest,
    providers: config.authProviders,
    sasl: config.sasl,
    ensembleNames: config.ensembleAuthNames,
  })
  const loadStarted = performance.now()
  const recovery: RecoveryOptions = {
    snapshotDir,
    logDir,
    compression,
    trustEmptySnapshot: config.trustEmptySnapshot,
    acceptDamage: config.acceptDamage,
    recordBytesMax: txnBytesMax(config),
    whenEmpty: {
      isUnexpected: !config.autoCreateDb,
      permission: { directory: config.dataLogDir, name: 'initialize' },
    },
    othersHaveIt: config.ensemble !== undefined,
    trace(event) {
      if (isRecoveryWarning(event)) everyLine.warn(describeRecovery(event))
      else everyLine.info(describeRecovery(event))
    },
  }
  const dbOptions = databaseOptions(config, authenticator.schemes)
  const committedLog = new CommittedLog(config.ensemble?.commitLogCount)
  const remember = config.ensemble === undefined ? undefined : recordInto(committedLog)
  const { db, recovered } = await loadDatabase(disk, recovery, dbOptions, remember)
  const loadedAt = performance.now()
  const log = new TxnLog(disk, {
    directory: logDir,
    preAllocBytes: config.preAllocBytes,
    forceSync: config.forceSync,
    lastZxid: db.lastZxid,
    extentDirectory: snapshotDir,
  })
  if (recovered.lacksData) log.keepExtent()
  let fail!: (error: Error) => void
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => {}) // Whoever cares waits for it.
  const startLog = (): void => journal.batchReady()
  const passwords = sessionPasswordsOf(config.sessionPasswords, logger)
  const ports: PeerPorts = {
    authenticator,
    auditor: audit,
    passwords,
    trace: tracer(logger),
    startLog,
  }
  const clock = { nowMs: Math.floor(performance.now()), wallMs: Date.now() }
  const wake = (): void => turn.schedule()
  const configFile = inMemory ? undefined : config.configFile
  const ensemble =
    config.ensemble &&
    (await joinEnsemble(
      {
        db,
        lacksData: recovered.lacksData,
        databaseOptions: dbOptions,
        recovery,
        disk,
        log,
        committedLog,
        ports,
        wake,
        logger,
      },
      {
        ...peerOptions(config),
        ensemble: config.ensemble,
        security: { tls: config.quorumTls, tlsContext: tls.servers, sasl: config.sasl.quorum },
        configFile,
      },
      clock,
    ))
  const peer = ensemble?.peer ?? new Peer(db, peerOptions(config), ports, clock)
  const idlePoll = new IdlePoll(config.idlePollMicros, {
    nowMs: () => performance.now(),
    soon: setImmediate,
    isAwaited: () => journal.isWriting || peer.outstandingRequests > 0,
  })
  const turn = new Turn(peer, () => journal.batchReady(), idlePoll)
  const journal = new Journal(
    {
      source: peer,
      log,
      disk,
      host: nodeHost,
      trace: (event) => {
        const { level, text } = describeJournal(event, ensemble !== undefined)
        logger[level](text)
      },
      turn: (work) => turn.run(work),
    },
    journalOptions(config, snapshotDir, logDir),
    fail,
  )
  if (recovered.snapshotFile !== undefined) {
    journal.stats.lastSnapshotZxid = recovered.snapshotZxid
    journal.stats.lastSnapshotWallMs = changedAt(`${snapshotDir}/${recovered.snapshotFile}`)
  }
  turn.setTime()
  if (peer instanceof Peer) peer.dropOrphans()
  ensemble?.connect(turn, journal)
  turn.schedule()
  // One that had to trust that nothing was there before its logs should not have to again.
  const isWithoutSnapshot = recovered.snapshotFile === undefined && !recovered.isFresh
  // Nor should the next start have to replay all this.
  const isLongReplay = recovered.recordsReplayed > config.snapCount / 2
  if (recovered.damageAccepted || isWithoutSnapshot) void journal.snapshot()
  else if (isLongReplay) void journal.snapshotAfter(calmAfterMs)
  const startup = {
    loadMs: loadedAt - loadStarted,
    recordsReplayed: recovered.recordsReplayed,
  }
  return {
    parts: {
      logger,
      peer,
      turn,
      journal,
      ensemble,
      fail,
      disk,
      locks,
      snapshotDir,
      logDir,
      authenticator,
      passwords,
      tls,
      audit,
      dbOptions,
      startup,
    },
    failed,
  }
}

function connectString(address: string | undefined, port: number): string {
  const host = address ?? '127.0.0.1'
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The ports of clients, in the order of their numbers in the configuration. */
function clientPorts({ clientPort, clientPortAddress, tls }: ServerConfig): ListenOptions['ports'] {
  const ports: ListenOptions['ports'][number][] = []
  if (clientPort !== undefined) {
    const speech = tls.portUnification ? 'both' : 'plain'
    ports.push({ speech, port: clientPort, address: clientPortAddress })
  }
  if (tls.port !== undefined) ports.push({ speech: 'tls', port: tls.port, address: tls.address })
  return ports
}

/** What the system says does not tell which setting is meant. */
function clientPortError(config: ServerConfig, speech: Speech, error: Error): Error {
  const isSecure = speech === 'tls'
  const key = isSecure ? 'secureClientPort' : 'clientPort'
  const port = isSecure ? config.tls.port : config.clientPort
  const address = isSecure ? config.tls.address : config.clientPortAddress
  const isAboutAddress = /^(EADDRNOTAVAIL|ENOTFOUND|EAI_.*)$/.test(faultCode(error) ?? '')
  return new StartError(
    isAboutAddress
      ? `${key}Address: ${address} cannot be listened on: ${error.message}. Name an ` +
          'address of this machine, or leave it out to listen on every one.'
      : `${key}: ${port} cannot be listened on: ${error.message}`,
    error,
  )
}

/** In memory nothing is older than the server. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
}

function databaseOptions(config: ServerConfig, schemes: ReadonlySet<string>): DatabaseOptions {
  return {
    extendedTypes: config.extendedTypesEnabled,
    digests: config.digestEnabled,
    hashSeed: Math.floor(Math.random() * 0x7fffffff),
    acl: { skipAcl: config.skipAcl, schemes },
    touchMemory,
  }
}

/** What Apache's servers with the same settings read, from each other and from their logs. */
function txnBytesMax({ juteMaxBuffer, juteMaxBufferExtra }: ServerConfig): number {
  return juteMaxBuffer + juteMaxBufferExtra
}

function peerOptions(config: ServerConfig): PeerOptions {
  return {
    // A standalone server puts 1 into its session ids.
    serverId: config.ensemble?.serverId ?? 1,
    tickMs: config.tickTime,
    sessionTimeoutMsMin: config.minSessionTimeout,
    sessionTimeoutMsMax: config.maxSessionTimeout,
    // A request that has to wait is not read: what Apache's throttler does in a queue of its own.
    outstandingMax: Math.min(
      config.globalOutstandingLimit,
      config.throttling.maxRequests || Infinity,
    ),
    // The leader reads a request with its header; what it would not read is refused here.
    frameBytesMax: Math.min(config.juteMaxBuffer, txnBytesMax(config) - forwardedHeaderBytes),
    limits: config.limits,
    handshakeMsMax: config.sessionlessTimeoutMs,
    rules: {
      enforceQuota: config.enforceQuota,
      reconfigEnabled: config.reconfigEnabled,
      standaloneEnabled: config.ensemble?.standaloneEnabled ?? true,
      multiAddressEnabled: config.ensemble?.multiAddress.enabled ?? false,
      closeSessionPaths: config.closeSessionTxnEnabled,
      txnBytesMax: txnBytesMax(config),
      multiOperationsMax: config.multiOperationsMax,
    },
    reclaim: {
      checkIntervalMs: config.containers.checkIntervalMs,
      perMinuteMax: config.containers.maxPerMinute,
      neverUsedMsMax: config.containers.maxNeverUsedMs,
    },
    requiredSchemes: config.enforceAuth.enabled ? config.enforceAuth.schemes : [],
    ...throttlingOptions(config),
  }
}

function throttlingOptions({
  throttling,
  largeRequests,
}: ServerConfig): Pick<PeerOptions, 'connectionThrottle' | 'largeRequests' | 'waiting'> {
  const { connections, maxRequests, staleLatencyCheck, dropStale, opWaitMs } = throttling
  const { threshold, maxBytes } = largeRequests
  return {
    connectionThrottle:
      connections.tokens > 0 ? { ...connections, random: () => nodeHost.random() } : undefined,
    largeRequests: threshold >= 0 ? { threshold, bytesMax: maxBytes } : undefined,
    waiting:
      maxRequests > 0
        ? { staleAfterTimeout: staleLatencyCheck, dropStale, refuseAfterMs: opWaitMs }
        : undefined,
  }
}

function journalOptions(config: ServerConfig, snapshotDir: string, logDir: string): JournalOptions {
  const { purge } = config
  return {
    snapshotDir,
    logDir,
    snapCount: config.snapCount,
    snapBytes: config.snapSizeLimitBytes,
    logBytesMax: config.txnLogSizeLimitBytes,
    slowSyncMs: config.fsyncWarningThresholdMs,
    retainCount: purge.retainCount,
    retainBytes: purge.retainBytes,
    purges: purge.intervalMs > 0,
    snapshotMethod: config.snapshotCompression === 'none' ? 'plain' : config.snapshotCompression,
    compression,
    tellsLastZxid: config.serializeLastProcessedZxid,
  }
}

function tracer(logger: Logger): (event: TraceEvent) => void {
  return (event) => {
    const line = describeTrace(event)
    if (line !== undefined) logger[line.level](line.text)
  }
}
