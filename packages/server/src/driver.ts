import {
  DiskFullError,
  purge,
  Summary,
  writeSnapshot,
  type Compression,
  type Disk,
  type Peer,
  type TxnLog,
} from '@zabra/core'
import type { Logger } from './logger.ts'
import type { Turn } from './turn.ts'

export interface DriverOptions {
  readonly snapshotDir: string
  readonly logDir: string
  readonly snapCount: number
  readonly snapBytes: number | undefined
  readonly logBytesMax: number | undefined
  readonly slowSyncMs: number
  readonly retainCount: number
  readonly retainBytes: number
  readonly purgeIntervalMs: number
  readonly snapshotMethod: 'plain' | 'gz' | 'snappy'
  readonly compression: Compression
}

const diskFullRetryMs = 500

/** How long things on disk took, for monitoring. */
export interface DiskStats {
  readonly syncMs: Summary
  /** Transactions made durable together. */
  readonly batchSize: Summary
  slowSyncs: number
  snapshots: number
  snapshotFailures: number
  lastSnapshotZxid: bigint
  lastSnapshotWallMs: number
  readonly snapshotMs: Summary
}

export interface TakenSnapshot {
  readonly file: string
  readonly bytes: number
  readonly zxid: bigint
}

/** Carries the peer's batches to the log, one at a time, and takes snapshots now and then. */
export class Driver {
  readonly stats: DiskStats = {
    syncMs: new Summary(),
    batchSize: new Summary(),
    slowSyncs: 0,
    snapshots: 0,
    snapshotFailures: 0,
    lastSnapshotZxid: -1n,
    lastSnapshotWallMs: 0,
    snapshotMs: new Summary(),
  }
  turn!: Turn
  private readonly peer: Peer
  private readonly log: TxnLog
  private readonly disk: Disk
  private readonly options: DriverOptions
  private readonly logger: Logger
  private readonly onFailure: (error: Error) => void
  private writing: Promise<void> | undefined
  private snapshotting: Promise<void> | undefined
  private purging: Promise<void> = Promise.resolve()
  private readonly purgeTimer: NodeJS.Timeout | undefined
  private snapshotAfterRecords = 0
  private snapshotAfterBytes = Infinity
  private isStopping = false
  private wakeRetry: (() => void) | undefined

  constructor(
    parts: { peer: Peer; log: TxnLog; disk: Disk; logger: Logger },
    options: DriverOptions,
    onFailure: (error: Error) => void,
  ) {
    this.peer = parts.peer
    this.log = parts.log
    this.disk = parts.disk
    this.logger = parts.logger
    this.options = options
    this.onFailure = onFailure
    this.drawSnapshotPoint()
    if (options.purgeIntervalMs > 0) {
      this.purgeTimer = setInterval(() => this.purgeSoon(), options.purgeIntervalMs)
      this.purgeTimer.unref()
    }
  }

  /** There is a batch: it is written now, or right after the one under way. */
  readonly batchReady = (): void => {
    this.writing ??= this.writeLog().finally(() => {
      this.writing = undefined
    })
  }

  /** One sync at a time: whatever queued up during it shares the next one. */
  private async writeLog(): Promise<void> {
    try {
      while (this.peer.hasBatch) {
        const batch = this.peer.takeBatch()
        this.stats.batchSize.add(batch.records)
        const started = performance.now()
        await this.append(batch)
        this.measureSync(performance.now() - started)
        this.turn.setTime()
        this.peer.logged(batch)
        this.turn.flush()
        this.snapshotIfDue()
      }
    } catch (error) {
      // Nothing can be promised any more, not even about what was written before.
      this.onFailure(error as Error)
    }
  }

  private async append(batch: Parameters<TxnLog['append']>[0]): Promise<void> {
    for (;;) {
      try {
        await this.log.append(batch)
        if (!this.peer.canWrite) this.logger.info('there is room on the disk again: writes go on')
        this.peer.resumeWrites()
        return
      } catch (error) {
        if (!(error instanceof DiskFullError) || this.isStopping) throw error
        if (this.peer.canWrite) {
          this.logger.error(
            `${error.message}; writes are refused until there is room, reads and sessions go on`,
          )
        }
        this.peer.suspendWrites()
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, diskFullRetryMs)
          this.wakeRetry = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    }
  }

  private measureSync(ms: number): void {
    const { stats } = this
    stats.syncMs.add(ms)
    if (ms > this.options.slowSyncMs) {
      stats.slowSyncs++
      this.logger.warn(`making a batch durable took ${Math.round(ms)} ms: the disk is slow`)
    }
  }

  // --- snapshots -------------------------------------------------------------------------------

  /** Somewhere between half and all of the limit, so that replicas do not all do it at once. */
  private drawSnapshotPoint(): void {
    const between = (limit: number): number => limit / 2 + Math.random() * (limit / 2)
    this.snapshotAfterRecords = between(this.options.snapCount)
    this.snapshotAfterBytes =
      this.options.snapBytes === undefined ? Infinity : between(this.options.snapBytes)
  }

  private snapshotIfDue(): void {
    const { log, options } = this
    if (
      log.recordsSinceRoll > this.snapshotAfterRecords ||
      log.bytesSinceRoll > this.snapshotAfterBytes
    ) {
      log.roll()
      this.drawSnapshotPoint()
      void this.snapshot()
    } else if (options.logBytesMax !== undefined && log.bytesSinceRoll > options.logBytesMax) {
      log.roll()
    }
  }

  /** Takes a snapshot while everything goes on; one at a time. */
  snapshot(): Promise<void> {
    if (this.snapshotting === undefined) void this.startSnapshot()
    return this.snapshotting ?? Promise.resolve()
  }

  /** As `snapshot`, but one that starts now, and undefined when it failed. */
  async snapshotNow(): Promise<TakenSnapshot | undefined> {
    while (this.snapshotting !== undefined) await this.snapshotting
    return this.startSnapshot()
  }

  private startSnapshot(): Promise<TakenSnapshot | undefined> {
    const taking = this.takeSnapshot()
    this.snapshotting = taking.then(() => {
      this.snapshotting = undefined
    })
    return taking
  }

  private async takeSnapshot(): Promise<TakenSnapshot | undefined> {
    const { stats, options, disk } = this
    const source = this.peer.db.snapshotSource()
    const started = performance.now()
    try {
      const { compression, snapshotMethod: method } = options
      const { file, bytes } = await writeSnapshot(disk, options.snapshotDir, source, {
        method,
        compression,
      })
      stats.snapshots++
      stats.lastSnapshotZxid = source.zxid
      stats.lastSnapshotWallMs = Date.now()
      const tookMs = performance.now() - started
      stats.snapshotMs.add(tookMs)
      this.logger.info(`${file}: ${bytes} bytes in ${Math.round(tookMs)} ms`)
      if (options.purgeIntervalMs > 0) this.purgeSoon()
      return { file, bytes, zxid: source.zxid }
    } catch (error) {
      // The logs still hold everything; the next one may succeed.
      stats.snapshotFailures++
      this.logger.error(`no snapshot was taken: ${(error as Error).message}`)
      return undefined
    }
  }

  private purgeSoon(): void {
    this.purging = this.purging.then(async () => {
      const { snapshotDir, logDir, retainCount } = this.options
      const retainBytes = this.options.retainBytes || Infinity
      try {
        const removed = await purge(this.disk, { snapshotDir, logDir, retainCount, retainBytes })
        if (removed.length > 0) this.logger.info(`purged ${removed.join(', ')}`)
      } catch (error) {
        this.logger.warn(`purging failed: ${(error as Error).message}`)
      }
    })
  }

  /** Everything acknowledged is on disk when this resolves. */
  async stop(): Promise<void> {
    this.isStopping = true
    this.wakeRetry?.()
    clearInterval(this.purgeTimer)
    while (this.writing !== undefined) await this.writing
    await this.snapshotting
    await this.purging
    await this.log.close()
  }
}
