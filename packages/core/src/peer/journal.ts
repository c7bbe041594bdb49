import type { Disk, Host } from '../ports.ts'
import type { SnapshotSource } from '../state/snapshot-source.ts'
import { forgetAllBut, putAsideAllBut } from '../storage/disk/forget.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import { DiskFullError, type TxnLog } from '../storage/log/txn-log.ts'
import { writeSnapshot } from '../storage/snapshot/snapshot.ts'
import {
  noDiskStats,
  type BatchSource,
  type DiskStats,
  type JournalEvent,
  type JournalOptions,
  type TakenSnapshot,
} from './journal-options.ts'
import { Purging } from './purging.ts'
import { Snapshotting } from './snapshotting.ts'

const diskFullRetryMs = 500
/** How often the extent of the logs is noted, at most. */
const noteExtentEveryMs = 100
/** Waking up the event loop after a write on a thread takes about a tenth of this. */
const quickSyncMs = 0.5
const awaitedBytesMax = 16 * 1024
const aloneMin = 4
/** A larger copy is left to a thread. */
const copiedBytesMax = 128 * 1024
/** A copy that took longer had to wait for the disk. */
const slowCopyMs = 5
/** How long threads make the copies after a slow one. */
const behindMs = 1000

/** Carries the peer's batches to the log, one at a time, and takes snapshots now and then. */
export class Journal {
  readonly stats: DiskStats = noDiskStats()
  private readonly source: BatchSource
  private readonly log: TxnLog
  private readonly disk: Disk
  private readonly host: Host
  private readonly options: JournalOptions
  private readonly trace: (event: JournalEvent) => void
  private readonly turn: (work: () => void) => void
  private readonly onFailure: (error: Error) => void
  private readonly purging: Purging
  private readonly snapshots: Snapshotting
  private writing: Promise<void> | undefined
  private lastSyncMs = Infinity
  private behindUntilMs = -Infinity
  private requestsBefore = 0
  private clientBefore = 0n
  /** Number of successive batches of one write, by the same client, with no other request between. */
  private batchesAlone = 0
  private snapshotAfterRecords = 0
  private snapshotAfterBytes = Infinity
  /** The last append found no room on the disk. */
  private isFull = false
  private isStopping = false
  private wakeRetry: (() => void) | undefined
  private cutWait: (() => void) | undefined
  private noting: Promise<void> | undefined
  private cutNoteWait: (() => void) | undefined

  constructor(
    parts: {
      source: BatchSource
      log: TxnLog
      disk: Disk
      host: Host
      trace: (event: JournalEvent) => void
      /** Runs work as a turn of the event loop: the time is set before, replies are sent after. */
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
    const { disk, host, trace } = parts
    this.purging = new Purging({ disk, host, trace }, options)
    const onTaken = (): void => {
      if (options.purges) this.purgeSoon()
    }
    this.snapshots = new Snapshotting(
      parts.source,
      { disk, host, trace, stats: this.stats, onTaken },
      options,
    )
    this.drawSnapshotPoint()
  }

  /** There is a batch: writes it now, or right after the one under way. */
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
        // The disk gets its next work first, so that it does not wait while replies are sent.
        next = this.startBatch()
        this.turn(() => this.source.logged(batch))
        this.noteExtentSoon()
        this.snapshotIfDue()
        next ??= this.startBatch()
      }
    } catch (error) {
      // Nothing can be promised any more, not even about earlier writes.
      this.onFailure(error as Error)
    }
  }

  private startBatch(): { batch: LogBatch; written: Promise<void> } | undefined {
    const { batches } = this.source
    if (batches.next.records === 0) return undefined
    const batch = batches.take()
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
   * Whether the event loop copies the batch to the system's memory itself. Without a sync
   * (`forceSync=no`) that takes no longer than to have a thread do it. But while the disk is far
   * behind, the system makes writers wait, and then a thread should wait.
   */
  private isCopied({ writer }: LogBatch, nowMs: number): boolean {
    return !this.log.forceSync && writer.position <= copiedBytesMax && nowMs >= this.behindUntilMs
  }

  private measureCopy(startedMs: number, nowMs: number): void {
    if (nowMs - startedMs > slowCopyMs) this.behindUntilMs = nowMs + behindMs
  }

  /**
   * Whether the event loop waits for the disk itself. That is faster than being woken up by a thread
   * if the disk is quick and one client's single writes are all there is to do. Other clients must
   * not wait for a disk: neither readers, nor writers whose writes could share a sync.
   */
  private isAwaited({ records, writer, lastClientId }: LogBatch): boolean {
    const { packetsReceived } = this.source.stats
    const isSmall = records === 1 && writer.position <= awaitedBytesMax
    const isSame = lastClientId === this.clientBefore
    const isAlone = isSmall && isSame && packetsReceived - this.requestsBefore <= 1
    this.clientBefore = lastClientId
    this.requestsBefore = packetsReceived
    this.batchesAlone = isAlone ? this.batchesAlone + 1 : 0
    return this.batchesAlone >= aloneMin && this.lastSyncMs < quickSyncMs
  }

  private async append(batch: LogBatch, isAwaited: boolean): Promise<void> {
    for (;;) {
      try {
        await this.log.append(batch, isAwaited)
        if (this.isFull) this.resumeWrites()
        return
      } catch (error) {
        if (!(error instanceof DiskFullError) || this.isStopping) throw error
        if (!this.isFull) this.suspendWrites(error)
        await this.purging.makeRoom()
        const { done, cut } = this.host.delay(diskFullRetryMs)
        this.wakeRetry = cut
        await done
      }
    }
  }

  private suspendWrites({ message }: DiskFullError): void {
    this.isFull = true
    this.trace({ type: 'diskFull', message })
    this.source.suspendWrites()
  }

  private resumeWrites(): void {
    this.isFull = false
    this.trace({ type: 'diskFree' })
    this.source.resumeWrites()
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

  /** Notes the extent of the logs while it changes, at most so often. The log does not wait for it. */
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

  /** Between half the limit and the limit, at random, so that replicas do not all do it at once. */
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

  /** Takes a snapshot while everything goes on, or waits for the one under way. */
  snapshot(): Promise<void> {
    return this.snapshots.snapshot()
  }

  /** Takes a snapshot after a while, unless another one was taken meanwhile. */
  async snapshotAfter(ms: number): Promise<void> {
    const { snapshots } = this.stats
    const { done, cut } = this.host.delay(ms)
    this.cutWait = cut
    await done
    if (!this.isStopping && this.stats.snapshots === snapshots) await this.snapshot()
  }

  /** Takes a snapshot that starts now; undefined when it failed. */
  snapshotNow(): Promise<TakenSnapshot | undefined> {
    return this.snapshots.snapshotNow()
  }

  /** Makes the snapshot under way fail, if there is one. */
  abandonSnapshot(): void {
    this.snapshots.abandon()
  }

  /** Does something to database and files while no snapshot is taken and nothing is purged. */
  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    return this.snapshots.exclude(() => this.purging.exclude(work))
  }

  purgeSoon(): void {
    this.purging.soon()
  }

  /**
   * Makes another database the one that a restart reads, and calls `adopt` once it is. Nothing may
   * be proposed meanwhile. If it cannot be stored, nothing has changed.
   */
  replaceBy(source: () => SnapshotSource, adopt: () => void): Promise<void> {
    const { disk, options, log, stats } = this
    return this.undisturbed(async () => {
      while (this.writing !== undefined || this.source.batches.next.records > 0) {
        this.batchReady()
        await this.writing
      }
      await log.close()
      const replacement = source()
      const { zxid } = replacement
      const { snapshotDir } = options
      const { file } = await writeSnapshot(disk, snapshotDir, replacement, this.snapshots.form)
      try {
        await log.rebase(zxid)
        await this.purging.markBreak(zxid)
        await forgetAllBut(disk, options, file)
      } catch (error) {
        // A restart would read something else than clients see: better to restart.
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
   * Stores the database, which came from a leader, and removes everything that was stored before, or
   * puts it aside; undefined when it could not be stored. Its snapshot may have a lower name than earlier ones, so
   * a purge at the same time would remove the one that must stay.
   */
  storeAlone(keepsOldFiles = false): Promise<TakenSnapshot | undefined> {
    const { disk, options, log } = this
    return this.undisturbed(async () => {
      const taken = await this.snapshots.take()
      if (taken === undefined) return undefined
      await log.rebase(taken.zxid)
      await this.purging.markBreak(taken.zxid)
      const forget = keepsOldFiles ? putAsideAllBut : forgetAllBut
      await forget(disk, options, taken.file)
      log.restart(taken.zxid)
      return taken
    })
  }

  /** Everything acknowledged is on disk when this resolves. */
  async stop(): Promise<void> {
    this.isStopping = true
    this.wakeRetry?.()
    this.cutWait?.()
    this.cutNoteWait?.()
    // A batch may become ready while the last snapshot is being written.
    do {
      await this.snapshots.done
      await this.purging.done
      await this.noting
      await this.writing
    } while (this.writing !== undefined)
    await this.log.close()
  }
}
