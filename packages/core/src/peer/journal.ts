import type { SnapshotSource } from '../state/snapshot-source.ts'
import {
  expireHistory,
  halveHistory,
  markBreak,
  retire,
  syncRetired,
  type HistoryRetention,
} from '../history/retention.ts'
import { forgetAllBut } from '../storage/disk/forget.ts'
import { purge } from '../storage/purge.ts'
import {
  sliceBytesDefault,
  writeSnapshot,
  type SnapshotOptions,
} from '../storage/snapshot/snapshot.ts'
import type { Compression } from '../storage/snapshot/snapshot-output.ts'
import { DiskFullError, type TxnLog } from '../storage/log/txn-log.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import { Summary } from '../base/statistics.ts'
import type { Disk, Host } from '../ports.ts'

/** Whoever has batches to be logged. */
export interface BatchSource {
  readonly hasBatch: boolean
  takeBatch(): LogBatch
  /** The batch is durable. */
  logged(batch: LogBatch): void
  /** How many requests have come from clients. */
  readonly requestsReceived: number
  readonly canWrite: boolean
  suspendWrites(): void
  resumeWrites(): void
  readonly db: {
    snapshotSource(): SnapshotSource
    /** False while the tree may hold parts of what is yet to come: no snapshot may be made of it. */
    readonly isExact: boolean
  }
  /** Resolves when the log holds, durably, everything that is applied; at once where left out. */
  flush?(): Promise<void>
}

/** What the journal did, for logs. */
export type JournalEvent =
  | { readonly type: 'diskFull'; readonly message: string }
  | { readonly type: 'diskFree' }
  | { readonly type: 'slowSync'; readonly ms: number }
  | {
      readonly type: 'snapshotTaken'
      readonly file: string
      readonly bytes: number
      readonly ms: number
    }
  | { readonly type: 'snapshotFailed'; readonly message: string }
  | { readonly type: 'purged'; readonly files: readonly string[] }
  | { readonly type: 'purgeFailed'; readonly message: string }

export interface JournalOptions {
  readonly snapshotDir: string
  readonly logDir: string
  readonly snapCount: number
  readonly snapBytes: number | undefined
  readonly logBytesMax: number | undefined
  readonly slowSyncMs: number
  readonly retainCount: number
  readonly retainBytes: number
  /** Whether old files go after each snapshot. */
  readonly purges: boolean
  readonly snapshotMethod: 'plain' | 'gz' | 'snappy'
  readonly compression: Compression | undefined
  /** How much of a snapshot is encoded in one turn of the loop, where it is not for the load to say. */
  readonly snapshotSliceBytes?: number
  /** Whether snapshots end with their last zxid; they do unless told. */
  readonly tellsLastZxid?: boolean
  /** What recovery needs no more is kept so long; left out, it is removed. */
  readonly history?: HistoryRetention | undefined
}

const diskFullRetryMs = 500
/** How far the logs go is noted this often at most. */
const noteExtentEveryMs = 100
/** To be woken twice, by the thread that writes and by what it wrote, takes about a tenth of this. */
const quickSyncMs = 0.5
const awaitedBytesMax = 16 * 1024
const aloneMin = 4
/** A copy of more than this is better made by a thread. */
const copiedBytesMax = 128 * 1024
/** A copy that took longer had to wait for the disk... */
const slowCopyMs = 5
/** ...and so long threads wait for it instead. */
const behindMs = 1000
/** So many writes in a turn are a server with much to do. */
const busyWrites = 200
const busySliceBytes = 3 * sliceBytesDefault

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
export class Journal {
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
  private readonly source: BatchSource
  private readonly log: TxnLog
  private readonly disk: Disk
  private readonly host: Host
  private readonly options: JournalOptions
  private readonly trace: (event: JournalEvent) => void
  private readonly turn: (work: () => void) => void
  private readonly onFailure: (error: Error) => void
  private writing: Promise<void> | undefined
  private snapshotting: Promise<void> | undefined
  private purging: Promise<void> = Promise.resolve()
  private isPurgeQueued = false
  private lastSyncMs = Infinity
  private behindUntilMs = -Infinity
  private requestsBefore = 0
  private clientBefore = 0n
  /** Batches of one write in a row, by the same client, with nothing else asked in between. */
  private batchesAlone = 0
  private snapshotAfterRecords = 0
  private snapshotAfterBytes = Infinity
  private isStopping = false
  private wakeRetry: (() => void) | undefined
  private cutWait: (() => void) | undefined
  private noting: Promise<void> | undefined
  private cutNoteWait: (() => void) | undefined
  private abandonment: { isAbandoned: boolean } = { isAbandoned: false }

  constructor(
    parts: {
      source: BatchSource
      log: TxnLog
      disk: Disk
      host: Host
      trace: (event: JournalEvent) => void
      /** Does something as a turn of the loop: the time is set before, replies are sent after. */
      turn: (work: () => void) => void
    },
    options: JournalOptions,
    onFailure: (error: Error) => void,
  ) {
    this.source = parts.source
    this.log = parts.log
    this.disk = parts.disk
    this.host = parts.host
    this.trace = parts.trace
    this.turn = parts.turn
    this.options = options
    this.onFailure = onFailure
    this.drawSnapshotPoint()
  }

  /** There is a batch: it is written now, or right after the one under way. */
  readonly batchReady = (): void => {
    this.writing ??= this.writeLog().finally(() => {
      this.writing = undefined
    })
  }

  /** A batch is on its way to the disk. */
  get isWriting(): boolean {
    return this.writing !== undefined
  }

  /** One sync at a time: whatever queued up during it shares the next one. */
  private async writeLog(): Promise<void> {
    try {
      let next = this.startBatch()
      while (next !== undefined) {
        const { batch, written } = next
        await written
        // The disk has its next work before this is told: it does not wait while replies are sent.
        next = this.startBatch()
        this.turn(() => this.source.logged(batch))
        this.noteExtentSoon()
        this.snapshotIfDue()
        next ??= this.startBatch()
      }
    } catch (error) {
      // Nothing can be promised any more, not even about what was written before.
      this.onFailure(error as Error)
    }
  }

  private startBatch(): { batch: LogBatch; written: Promise<void> } | undefined {
    if (!this.source.hasBatch) return undefined
    const batch = this.source.takeBatch()
    this.stats.batchSize.add(batch.records)
    return { batch, written: this.writeBatch(batch) }
  }

  private async writeBatch(batch: LogBatch): Promise<void> {
    const isAwaited = this.isAwaited(batch)
    const started = this.host.monotonicMs()
    const isCopied = this.isCopied(batch, started)
    const appended = this.append(batch, isAwaited || isCopied)
    if (isCopied) this.measureCopy(started, this.host.monotonicMs())
    await appended
    this.measureSync(this.host.monotonicMs() - started)
  }

  /**
   * Whether the batch is only copied to the system's memory, and not synced (`forceSync=no`): that
   * takes no longer than to have a thread do it. Only while the disk is far behind does the system
   * let whoever writes wait, and then it had better be a thread.
   */
  private isCopied({ writer }: LogBatch, nowMs: number): boolean {
    return !this.log.forceSync && writer.position <= copiedBytesMax && nowMs >= this.behindUntilMs
  }

  private measureCopy(startedMs: number, nowMs: number): void {
    if (nowMs - startedMs > slowCopyMs) this.behindUntilMs = nowMs + behindMs
  }

  /**
   * Whether the disk is quick, and one client's writes, one by one, are all that there is to do:
   * then it is waited for, for that is sooner than to sleep until a thread has done it. Others must
   * not wait for a disk: neither those who read nor those whose writes could share a sync.
   */
  private isAwaited({ records, writer, lastClientId }: LogBatch): boolean {
    const { requestsReceived } = this.source
    const isSmall = records === 1 && writer.position <= awaitedBytesMax
    const isSame = lastClientId === this.clientBefore
    const isAlone = isSmall && isSame && requestsReceived - this.requestsBefore <= 1
    this.clientBefore = lastClientId
    this.requestsBefore = requestsReceived
    this.batchesAlone = isAlone ? this.batchesAlone + 1 : 0
    return this.batchesAlone >= aloneMin && this.lastSyncMs < quickSyncMs
  }

  private async append(batch: LogBatch, isAwaited: boolean): Promise<void> {
    for (;;) {
      try {
        await this.log.append(batch, isAwaited)
        if (!this.source.canWrite) this.trace({ type: 'diskFree' })
        this.source.resumeWrites()
        return
      } catch (error) {
        if (!(error instanceof DiskFullError) || this.isStopping) throw error
        if (this.source.canWrite) this.trace({ type: 'diskFull', message: error.message })
        this.source.suspendWrites()
        await this.makeRoom()
        const { done, cut } = this.host.delay(diskFullRetryMs)
        this.wakeRetry = cut
        await done
      }
    }
  }

  /** Writes are worth more than the past. */
  private async makeRoom(): Promise<void> {
    const { disk, options } = this
    if (options.history === undefined) return
    try {
      const removed = await halveHistory(disk, options)
      if (removed.length > 0) this.trace({ type: 'purged', files: removed })
    } catch (error) {
      this.trace({ type: 'purgeFailed', message: (error as Error).message })
    }
  }

  private measureSync(ms: number): void {
    const { stats } = this
    stats.syncMs.add(ms)
    this.lastSyncMs = ms
    if (ms > this.options.slowSyncMs) {
      stats.slowSyncs++
      this.trace({ type: 'slowSync', ms })
    }
  }

  /** Now and then while there is more to note; the log does not wait for it. */
  private noteExtentSoon(): void {
    if (this.log.isExtentNoted) return
    this.noting ??= this.noteExtent().finally(() => {
      this.noting = undefined
    })
  }

  private async noteExtent(): Promise<void> {
    do {
      await this.log.noteExtent()
      if (this.isStopping) return
      const { done, cut } = this.host.delay(noteExtentEveryMs)
      this.cutNoteWait = cut
      await done
    } while (!this.isStopping && !this.log.isExtentNoted)
  }

  // --- snapshots -------------------------------------------------------------------------------

  /** Somewhere between half and all of the limit, so that replicas do not all do it at once. */
  private drawSnapshotPoint(): void {
    const between = (limit: number): number => limit / 2 + this.host.random() * (limit / 2)
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

  /** As `snapshot`, but not while there is something better to do; nor if there is one by then. */
  async snapshotAfter(ms: number): Promise<void> {
    const { snapshots } = this.stats
    const { done, cut } = this.host.delay(ms)
    this.cutWait = cut
    await done
    if (!this.isStopping && this.stats.snapshots === snapshots) await this.snapshot()
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
    if (!this.source.db.isExact) {
      this.trace({ type: 'snapshotFailed', message: 'the leader is still sending the database' })
      return undefined
    }
    const abandonment = (this.abandonment = { isAbandoned: false })
    const source = unlessAbandoned(this.source.db.snapshotSource(), abandonment)
    const started = this.host.monotonicMs()
    try {
      const { file, bytes } = await writeSnapshot(disk, options.snapshotDir, source, {
        ...this.snapshotForm,
        // A learner applies what a quorum has logged; a snapshot ahead of its own log is useless.
        logged: async () => this.source.flush?.(),
      })
      stats.snapshots++
      stats.lastSnapshotZxid = source.zxid
      stats.lastSnapshotWallMs = this.host.wallMs()
      const tookMs = this.host.monotonicMs() - started
      stats.snapshotMs.add(tookMs)
      this.trace({ type: 'snapshotTaken', file, bytes, ms: tookMs })
      if (options.purges) this.purgeSoon()
      return { file, bytes, zxid: source.zxid }
    } catch (error) {
      // The logs still hold everything; the next one may succeed.
      stats.snapshotFailures++
      this.trace({ type: 'snapshotFailed', message: (error as Error).message })
      return undefined
    }
  }

  private get snapshotForm(): SnapshotOptions {
    const { compression, snapshotMethod: method, tellsLastZxid = true } = this.options
    const { snapshotSliceBytes } = this.options
    const sliceBytes =
      snapshotSliceBytes === undefined ? this.snapshotPace() : () => snapshotSliceBytes
    return {
      method,
      tellsLastZxid,
      sliceBytes,
      ...(compression === undefined ? {} : { compression }),
    }
  }

  /**
   * Where hundreds of writes share a turn of the loop, a longer one is hardly felt; and the sooner
   * a snapshot is complete, the less a restart has to replay.
   */
  private snapshotPace(): () => number {
    const { batchSize } = this.stats
    let before = batchSize.sum
    return () => {
      const written = batchSize.sum - before
      before = batchSize.sum
      return written > busyWrites ? busySliceBytes : sliceBytesDefault
    }
  }

  /**
   * Makes another database the one that a restart reads, and calls `adopt` the moment that is so.
   * Nothing may be proposed meanwhile. Where it cannot be stored, everything is as it was.
   */
  replaceBy(source: () => SnapshotSource, adopt: () => void): Promise<void> {
    const { disk, options, log, stats } = this
    return this.undisturbed(async () => {
      while (this.writing !== undefined || this.source.hasBatch) {
        this.batchReady()
        await this.writing
      }
      await log.close()
      const replacement = source()
      const { zxid } = replacement
      await writeSnapshot(disk, options.snapshotDir, replacement, this.snapshotForm)
      try {
        await log.rebase(zxid)
        await this.markBreak(zxid)
        await forgetAllBut(disk, options, zxid)
      } catch (error) {
        // What a restart would read is no longer what clients are told: better to restart.
        this.onFailure(error as Error)
        throw error
      }
      stats.snapshots++
      stats.lastSnapshotZxid = zxid
      stats.lastSnapshotWallMs = this.host.wallMs()
      log.restart(zxid)
      this.turn(adopt)
    })
  }

  /**
   * Stores the database, which came from a leader, and removes everything that was stored before;
   * undefined when it could not be stored. Its snapshot may have a lower name than those before it,
   * so a purge at the same time would remove the one that is to stay.
   */
  storeAlone(): Promise<TakenSnapshot | undefined> {
    const { disk, options, log } = this
    return this.undisturbed(async () => {
      const taken = await this.takeSnapshot()
      if (taken === undefined) return undefined
      await log.rebase(taken.zxid)
      await this.markBreak(taken.zxid)
      await forgetAllBut(disk, options, taken.zxid)
      log.restart(taken.zxid)
      return taken
    })
  }

  /** The snapshot under way, if any, fails: the database becomes what it must not contain. */
  abandonSnapshot(): void {
    this.abandonment.isAbandoned = true
  }

  /** Does something to database and files while no snapshot is taken and nothing is purged. */
  async undisturbed<T>(work: () => Promise<T>): Promise<T> {
    while (this.snapshotting !== undefined) {
      this.abandonSnapshot()
      await this.snapshotting
    }
    const working = this.purging.then(work)
    const over = working.then(
      () => {},
      () => {},
    )
    this.purging = over
    this.snapshotting = over.then(() => {
      this.snapshotting = undefined
    })
    return working
  }

  /** History is to know that what was before does not lead to the database of this zxid. */
  private async markBreak(zxid: bigint): Promise<void> {
    const { disk, options } = this
    if (options.history === undefined) return
    try {
      await markBreak(disk, options, zxid)
    } catch (error) {
      this.trace({ type: 'purgeFailed', message: (error as Error).message })
    }
  }

  /** Takes away what no recovery needs any more; one that has yet to begin does for all who ask. */
  purgeSoon(): void {
    if (this.isPurgeQueued) return
    this.isPurgeQueued = true
    this.purging = this.purging.then(async () => {
      this.isPurgeQueued = false
      try {
        const removed = await this.purge()
        if (removed.length > 0) this.trace({ type: 'purged', files: removed })
      } catch (error) {
        this.trace({ type: 'purgeFailed', message: (error as Error).message })
      }
    })
  }

  /** What recovery needs no more goes to the history, where there is one, and the oldest of that goes. */
  private async purge(): Promise<string[]> {
    const { disk, options, host } = this
    const { snapshotDir, logDir, retainCount, history } = options
    const retention = {
      snapshotDir,
      logDir,
      retainCount,
      retainBytes: options.retainBytes || Infinity,
    }
    if (history === undefined) return purge(disk, retention)
    await purge(disk, {
      ...retention,
      dispose: {
        take: (directory, name) => retire(disk, directory, name),
        sync: (directory) => syncRetired(disk, directory),
      },
    })
    return expireHistory(disk, { snapshotDir, logDir }, history, host.wallMs())
  }

  /** Everything acknowledged is on disk when this resolves. */
  async stop(): Promise<void> {
    this.isStopping = true
    this.wakeRetry?.()
    this.cutWait?.()
    this.cutNoteWait?.()
    // A batch may become ready while the last snapshot is being written: it is waited for, too.
    do {
      await this.snapshotting
      await this.purging
      await this.noting
      await this.writing
    } while (this.writing !== undefined)
    await this.log.close()
  }
}

function unlessAbandoned(
  source: SnapshotSource,
  abandonment: { readonly isAbandoned: boolean },
): SnapshotSource {
  const check = (): void => {
    if (abandonment.isAbandoned) throw new Error('the database was replaced meanwhile')
  }
  return {
    ...source,
    writeNodes(writer, bytesMax) {
      check()
      return source.writeNodes(writer, bytesMax)
    },
    finish() {
      check()
      return source.finish()
    },
  }
}
