import {
  copyRecords,
  MemoryDisk,
  pastFiles,
  RestoreRefusal,
  Summary,
  type Disk,
  type PeerBase,
  type RecordRange,
} from '@zabra/core'
import type { ServerState } from '@zabra/protocol'
import { AdminServer } from '../admin/admin-server.ts'
import { makeWords } from '../admin/words.ts'
import { InternalClient } from '../api/internal-client.ts'
import { openAuditLog, type AuditLog } from '../audit/audit-log.ts'
import { every } from '../base/every.ts'
import { eventLogger, type EventLogger } from '../base/event-logger.ts'
import { LogRing } from '../base/log-ring.ts'
import type { Logger } from '../base/logger.ts'
import { limitRate } from '../base/rate-limited-logger.ts'
import type { ServerConfig } from '../config/config.ts'
import { lockDirectories } from '../disk/directories.ts'
import type { DirectoryLock } from '../disk/lock.ts'
import { NodeDisk } from '../disk/node-disk.ts'
import type { HandshakeCounts } from '../tls/tls-acceptor.ts'
import type { TlsContext } from '../tls/tls-context.ts'
import { everyContext, openTlsContexts, type TlsContexts } from '../tls/tls-contexts.ts'
import type { ServerView } from '../view/server-view.ts'
import { assembleServer, type Parts } from './assemble.ts'
import { ClientPorts } from './client-ports.ts'
import { txnBytesMax } from './options.ts'
import { receiveSnapshot } from './restore.ts'

/** An event loop that is later than this counts as stalled. */
const stallMsMin = 200

/** The environment of a server. */
export interface Host {
  readonly logger: Logger
  /** Stores nothing on disk: all files are in memory and disappear with the server. */
  readonly inMemory: boolean
}

/** Resources of a running server, released when it stops. */
interface Holdings {
  readonly disk: Disk
  readonly locks: readonly DirectoryLock[]
  readonly tls: TlsContexts
  readonly audit: AuditLog | undefined
  readonly clientPorts: ClientPorts
  readonly logger: EventLogger
  /** Without a limit of lines. */
  readonly startLogger: EventLogger
  readonly log: LogRing
}

/** A running server. */
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
  isRestoring = false
  /** Rejects when the server cannot continue, for example because its disk failed. */
  readonly failed: Promise<never>
  private readonly parts: Parts
  private readonly holdings: Holdings
  private readonly admin: AdminServer
  private readonly ticker: NodeJS.Timeout
  private readonly endPurges: (() => void) | undefined
  private stopping: Promise<void> | undefined

  private constructor(
    config: ServerConfig,
    parts: Parts,
    holdings: Holdings,
    failed: Promise<never>,
  ) {
    this.config = config
    this.parts = parts
    this.holdings = holdings
    this.peer = parts.peer
    this.failed = failed
    const { administrators: context } = holdings.tls
    const { acceptsPlain } = config.adminTls
    this.admin = new AdminServer(this, holdings, context && { context, acceptsPlain })
    // Sessions expire on whole ticks of tickTime; a shorter period makes them expire on time. Waits
    // of an election last a few hundred milliseconds, so members of an ensemble tick more often.
    const periodMax = config.ensemble === undefined ? 500 : 20
    const period = Math.max(10, Math.min(periodMax, Math.floor(config.tickMs / 4)))
    let tickedMs = performance.now()
    this.ticker = setInterval(() => {
      parts.turn.setTime()
      const lateMs = performance.now() - tickedMs - period
      tickedMs += lateMs + period
      if (lateMs > stallMsMin) parts.peer.sessionEnds.stalled(lateMs)
      if (parts.ensemble !== undefined) parts.peer.sessionEnds.roleTaken(parts.ensemble.peer.state)
      parts.peer.tick()
      if (parts.peer.hasBatch) parts.turn.schedule()
    }, period)
    const { intervalMs } = config.purge
    if (intervalMs > 0) this.endPurges = every(intervalMs, () => parts.journal.purgeSoon())
  }

  /** Loads the data directory and serves it. */
  static async start(config: ServerConfig, host: Host): Promise<RunningServer> {
    const { inMemory } = host
    const log = new LogRing()
    const startLogger = eventLogger(log.around(host.logger))
    const logger = limitRate(startLogger)
    const disk: Disk = inMemory ? new MemoryDisk() : new NodeDisk()
    const locks = inMemory ? [] : lockDirectories(config)
    let tls: TlsContexts | undefined
    let audit: AuditLog | undefined
    try {
      tls = openTlsContexts(config, startLogger)
      audit = await openAuditLog(config, startLogger)
      let fail!: (error: Error) => void
      const failed = new Promise<never>((_, reject) => (fail = reject))
      failed.catch(() => {}) // Callers may or may not await it.
      const parts = await assembleServer(config, {
        disk,
        configFile: inMemory ? undefined : config.configFile,
        logger,
        startLogger,
        tls,
        audit,
        clientMoved: (address) => clientPorts.move(address),
        fail,
      })
      const { peer, turn } = parts
      const words = makeWords(() => server)
      const clientPorts = new ClientPorts(config, {
        peer,
        turn,
        words,
        logger,
        tlsContext: tls.clients,
      })
      const holdings = { disk, locks, tls, audit, clientPorts, logger, startLogger, log }
      const server = new RunningServer(config, parts, holdings, failed)
      try {
        await server.open(fail)
        audit?.started()
      } catch (error) {
        // `stop` ends the audit log as well.
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

  private async open(fail: (error: Error) => void): Promise<void> {
    await this.holdings.clientPorts.open()
    await this.admin.open()
    await this.parts.ensemble?.start(fail)
  }

  /** Stops cleanly: everything acknowledged is on disk, and every connection is closed. */
  stop(): Promise<void> {
    this.stopping ??= this.shutDown()
    return this.stopping
  }

  /** Stops at the end of a block: `await using server = await startServer()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  private async shutDown(): Promise<void> {
    const { journal, ensemble } = this.parts
    const { locks, tls, audit } = this.holdings
    const { listener } = this.holdings.clientPorts
    clearInterval(this.ticker)
    for (const context of everyContext(tls)) context.stop()
    this.endPurges?.()
    listener.stopAccepting()
    for (const socket of this.sockets) socket.pause()
    try {
      // The other servers wait until this one is gone, so the ensemble stops first.
      await ensemble?.stop()
      await this.admin.stop()
      await journal.stop()
    } finally {
      await listener.closeAll()
      await audit?.stopped()
      for (const lock of locks) lock.release()
    }
  }

  get isStopping(): boolean {
    return this.stopping !== undefined
  }

  // --- addresses -------------------------------------------------------------------------------

  get clientPort(): number {
    return this.holdings.clientPorts.listener.address?.port ?? 0
  }

  /** The port for clients with TLS; 0 without one. */
  get secureClientPort(): number {
    return this.holdings.clientPorts.listener.secureAddress?.port ?? 0
  }

  /** `host:port[,host:port]`, in the format that clients take. */
  get connectString(): string {
    return connectString(this.config.clientPortAddress, this.clientPort)
  }

  /** The same for clients with TLS. */
  get secureConnectString(): string {
    const { tls, clientPortAddress } = this.config
    const address = tls.port === undefined ? clientPortAddress : tls.address
    return connectString(address, this.secureClientPort)
  }

  get adminAddress(): string | undefined {
    return this.admin.url
  }

  /** The URL of the console. */
  get consoleAddress(): string | undefined {
    return this.admin.consoleUrl
  }

  /** The URL of metrics for Prometheus, if ZooKeeper's provider is configured. */
  get metricsAddress(): string | undefined {
    return this.admin.metricsUrl
  }

  get adminPort(): number | undefined {
    return this.admin.consolePort
  }

  // --- for monitoring --------------------------------------------------------------------------

  get handshakes(): HandshakeCounts {
    return this.holdings.clientPorts.handshakes
  }

  get tlsContexts(): readonly TlsContext[] {
    return everyContext(this.holdings.tls)
  }

  get log(): LogRing {
    return this.holdings.log
  }

  get disk(): ServerView['disk'] {
    return this.parts.journal.stats
  }

  get sockets(): ServerView['sockets'] {
    return this.holdings.clientPorts.listener.sockets
  }

  get unreadBytes(): number {
    return this.holdings.clientPorts.listener.output.bytes
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

  get expiredBy(): ServerView['expiredBy'] {
    return this.parts.expiredBy
  }

  get history(): ServerView['history'] {
    return this.parts.history
  }

  get directories(): ServerView['directories'] {
    const { snapshotDir, logDir } = this.parts.directories
    return { data: snapshotDir, log: logDir }
  }

  async directorySizes(): Promise<{ data: number; log: number }> {
    const { disk } = this.holdings
    const sizeOf = async (directory: string): Promise<number> =>
      (await disk.list(directory)).reduce((sum, { bytes }) => sum + bytes, 0)
    const { snapshotDir, logDir } = this.parts.directories
    return { data: await sizeOf(snapshotDir), log: await sizeOf(logDir) }
  }

  get ensembleState(): ServerState | undefined {
    return this.parts.ensemble?.peer.state
  }

  get ensemble(): ServerView['ensemble'] {
    const { config, parts } = this
    if (config.ensemble === undefined || parts.ensemble === undefined) return undefined
    const { config: membership, zabStats: stats, leadership, servedObservers } = parts.ensemble.peer
    return { config: config.ensemble, membership, stats, leadership, servedObservers }
  }

  get timeline(): ServerView['timeline'] {
    return this.parts.ensemble?.timeline
  }

  // --- what administrators can do --------------------------------------------------------------

  snapshot(): ReturnType<ServerView['snapshot']> {
    return this.parts.journal.snapshotNow()
  }

  openSnapshot(file: string): ReturnType<ServerView['openSnapshot']> {
    return this.holdings.disk.openRead(`${this.parts.directories.snapshotDir}/${file}`)
  }

  get storage(): ServerView['storage'] {
    const { snapshotDir, logDir } = this.parts.directories
    return { disk: this.holdings.disk, snapshotDir, logDir }
  }

  async loggedZxid(): Promise<bigint> {
    const { db } = this.peer
    // The last zxid may be the start of an epoch, which is in no log.
    const zxid = db.lastTxnZxid === 0n ? db.lastZxid : db.lastTxnZxid
    await this.peer.flush()
    return zxid
  }

  async *copyLog(range: RecordRange): AsyncGenerator<Uint8Array, void, void> {
    const { disk } = this.holdings
    const recordBytesMax = txnBytesMax(this.config)
    yield* copyRecords(disk, await pastFiles(disk, this.storage), range, { recordBytesMax })
  }

  async handOver(): ReturnType<ServerView['handOver']> {
    const { ensemble } = this.parts
    return ensemble?.peer.handOver() ?? { problem: 'this server is on its own' }
  }

  /**
   * Ends a session and deletes its ephemeral znodes; false if the session does not exist, or no
   * leader can end it.
   */
  endSession(id: bigint): Promise<boolean> {
    return InternalClient.endSession(this, '127.0.0.1', id)
  }

  async restore(bytes: AsyncIterable<Uint8Array>): Promise<bigint> {
    if (this.isRestoring) throw new RestoreRefusal('another restore is under way')
    this.isRestoring = true
    try {
      const { directories, dbOptions, journal } = this.parts
      const { disk } = this.holdings
      const restored = await receiveSnapshot(bytes, disk, directories.snapshotDir, dbOptions)
      await this.peer.restore(restored, journal)
      return restored.zxid
    } finally {
      this.isRestoring = false
    }
  }
}

function connectString(address: string | undefined, port: number): string {
  const host = address ?? '127.0.0.1'
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
