import { encode, FileHeader, fileHeaderBytes, fileVersion, logMagic } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { Disk, WriteHandle } from '../../ports.ts'
import { faultCode } from '../../ports.ts'
import { endMarkBytes, writeEndMark } from './end-mark.ts'
import { readExtent, writeExtent, type NotedExtent } from './extent.ts'
import { logName, unfinishedName } from '../disk/files.ts'
import type { LogBatch } from './log-batch.ts'

export interface TxnLogOptions {
  readonly directory: string
  /** How many bytes a file is lengthened ahead of its records; 0 for none. */
  readonly preAllocBytes?: number
  /** If false, the operating system decides when bytes become durable. */
  readonly forceSync?: boolean
  /** The last record that recovery found: appends go on after it. */
  readonly lastZxid?: bigint
  /** The directory for notes of the log's extent; without it there are none. */
  readonly extentDirectory?: string | undefined
}

/**
 * There is no room for the batch, or no file descriptor. Nothing is lost: the same append may be
 * tried again later.
 */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError'
}

/** The log can no longer promise anything: a write or a sync failed, and the process must stop. */
export class LogFailedError extends Error {
  override readonly name = 'LogFailedError'
}

const preAllocBytesDefault = 64 * 1024 * 1024
/** The file grows when its records come this close to its end. */
const marginBytes = 4096
/** The size of a block of zeros that is written ahead of the records. */
const fillBytes = 1024 * 1024
/** The next block is written when the records come this close to the end of the last one. */
const fillMarginBytes = 256 * 1024
/** Larger batches allocate their own space, because filling it first would write everything twice. */
const fillBatchBytesMax = 64 * 1024

const fileHeader = encode(FileHeader, { magic: logMagic, version: fileVersion, dbid: 0n })
let zeros: Uint8Array | undefined

/**
 * Appends batches to the newest `log.<zxid>` of a directory.
 *
 * An append is one write to a file opened for durable writes: one trip through the thread pool, or
 * none if the event loop waits for the disk itself. Files are lengthened ahead as by Apache, and the
 * next megabyte is filled with real zeros while nobody waits, so that making a small batch durable
 * changes no metadata.
 */
export class TxnLog {
  /** Counted from the last `roll`, or from the start. */
  bytesSinceRoll = 0
  recordsSinceRoll = 0
  lastZxid: bigint
  private readonly disk: Disk
  private readonly directory: string
  private readonly preAllocBytes: number
  readonly forceSync: boolean
  private file: WriteHandle | undefined
  private path = ''
  private position = 0
  private size = 0
  /** The end of the zeros ahead of the records, once `filling` is done. */
  private filledTo = 0
  private filling: Promise<void> | undefined
  private readonly extentDirectory: string | undefined
  /** The last transaction that a recovery would find. */
  private durableZxid: bigint
  /** The newest note; undefined before the first, and if recovery may have written another. */
  private noted: NotedExtent | undefined
  /** The transaction that the file being written begins with. */
  private firstOfFile: bigint | undefined
  private noting: Promise<void> = Promise.resolve()
  private isExtentKept = false
  private rollWanted = false
  private appending = false
  private failure: LogFailedError | undefined
  /** Files that are being closed after a roll. */
  private closing: Promise<void> = Promise.resolve()

  constructor(disk: Disk, options: TxnLogOptions) {
    this.disk = disk
    this.directory = options.directory
    this.preAllocBytes = options.preAllocBytes ?? preAllocBytesDefault
    this.forceSync = options.forceSync ?? true
    this.lastZxid = this.durableZxid = options.lastZxid ?? 0n
    this.extentDirectory = options.extentDirectory
  }

  /** The file being written, if there is one. */
  get currentFile(): string | undefined {
    return this.file === undefined ? undefined : this.path
  }

  /**
   * Resolves when every record of the batch is durable. One append at a time; the batch must not
   * change until then. `isAwaited` says that there is nothing else to do meanwhile.
   */
  async append(batch: LogBatch, isAwaited = false): Promise<void> {
    assert(!this.appending, 'one append at a time')
    assert(batch.records > 0, 'a batch holds records')
    assert(batch.firstZxid > this.lastZxid, 'zxids grow from batch to batch')
    if (this.failure !== undefined) throw this.failure
    this.appending = true
    try {
      await this.write(batch, isAwaited)
      this.lastZxid = this.durableZxid = batch.lastZxid
      this.recordsSinceRoll += batch.records
    } catch (error) {
      throw await this.failureOf(error)
    } finally {
      this.appending = false
    }
  }

  /** The next append starts a new file. */
  roll(): void {
    if (this.file !== undefined) this.rollWanted = true
    this.bytesSinceRoll = 0
    this.recordsSinceRoll = 0
  }

  /** The history was replaced: the next append starts a new file, after this transaction. */
  restart(lastZxid: bigint): void {
    assert(!this.appending, 'an append is over before the history is replaced')
    this.roll()
    this.lastZxid = lastZxid
    this.noted = undefined
  }

  async close(): Promise<void> {
    assert(!this.appending, 'an append is over before the log is closed')
    this.leaveFile()
    await this.closing
    // After a failure the end of the log is unknown.
    if (this.failure === undefined) await this.noteEnd('durably')
  }

  // --- how far it goes -------------------------------------------------------------------------

  get isExtentNoted(): boolean {
    return this.extentDirectory === undefined || this.noted?.zxid === this.durableZxid
  }

  /**
   * Notes how far the log goes. If that fails, the note says less than it could, which is no reason
   * to stop.
   */
  noteExtent(): Promise<void> {
    return this.noteEnd('soon')
  }

  private async noteEnd(when: 'soon' | 'durably'): Promise<void> {
    const { durableZxid: zxid, firstOfFile: log } = this
    await this.note({ zxid, log, isClosed: log === undefined }, when).catch(() => {})
  }

  /**
   * Called before later transactions are cut off, or another history replaces this one. The note must
   * never claim more than recovery can find.
   */
  async rebase(zxid: bigint): Promise<void> {
    this.durableZxid = zxid
    // In both lines: if one is unreadable later, the other must not claim what is cut off.
    for (let line = 0; line < 2; line++) {
      await this.note({ zxid, log: undefined, isClosed: true }, 'durably')
    }
  }

  /**
   * Leaves the note as it is: recovery found less than it says, and every start must notice that
   * until a leader has sent what is missing.
   */
  keepExtent(): void {
    this.isExtentKept = true
  }

  /** Call when the missing transactions have arrived, or were never committed. */
  async releaseExtent(): Promise<void> {
    if (!this.isExtentKept) return
    this.isExtentKept = false
    await this.noteExtent()
  }

  private note(
    extent: { zxid: bigint; log: bigint | undefined; isClosed: boolean },
    when: 'soon' | 'durably',
  ): Promise<void> {
    const { disk, extentDirectory } = this
    if (extentDirectory === undefined || this.isExtentKept) return Promise.resolve()
    const noting = this.noting.then(async () => {
      const newest = this.noted ?? (await readExtent(disk, extentDirectory))
      const next = { ...extent, isSynced: this.forceSync }
      this.noted = undefined
      this.noted = await writeExtent(disk, extentDirectory, next, {
        newest,
        isDurable: when === 'durably',
      })
    })
    this.noting = noting.catch(() => {})
    return noting
  }

  private async write(batch: LogBatch, isAwaited: boolean): Promise<void> {
    if (this.rollWanted) this.leaveFile()
    if (this.file === undefined) await this.startFile(batch.firstZxid)
    const file = this.file!
    const { writer } = batch
    const recordBytes = writer.position
    const end = this.position + recordBytes
    if (this.preAllocBytes > 0 && end + endMarkBytes + marginBytes >= this.size) {
      await this.lengthen(file, end + endMarkBytes + marginBytes)
    }
    // Zeros being written must not overwrite records.
    if (this.filling !== undefined && end + endMarkBytes > this.filledTo - fillBytes) {
      await this.filling
    }
    writeEndMark(writer, this.position)
    const bytes = writer.written()
    writer.position = recordBytes
    if (isAwaited && file.writeNow !== undefined) file.writeNow(bytes, this.position)
    else await file.write(bytes, this.position)
    this.position = end
    this.bytesSinceRoll += recordBytes
    this.size = Math.max(this.size, end + endMarkBytes)
    if (this.forceSync && recordBytes <= fillBatchBytesMax) this.fillAhead(file)
  }

  /** The file gets its name when its header is durable, so no reader finds one without a header. */
  private async startFile(firstZxid: bigint): Promise<void> {
    const name = logName(firstZxid)
    const unfinished = `${this.directory}/${unfinishedName(name)}`
    const path = `${this.directory}/${name}`
    const file = await this.disk.create(unfinished, { durableWrites: this.forceSync })
    try {
      await file.write(fileHeader, 0)
      await this.disk.rename(unfinished, path)
      if (this.forceSync) await this.disk.syncDirectory(this.directory)
    } catch (error) {
      await file.close().catch(() => {})
      throw error
    }
    this.file = file
    this.path = path
    this.firstOfFile = firstZxid
    this.position = this.size = this.filledTo = fileHeaderBytes
  }

  /** Lengthens the file without using space. A failure does no harm while records can be written. */
  private async lengthen(file: WriteHandle, needed: number): Promise<void> {
    const size =
      this.size + Math.ceil((needed - this.size) / this.preAllocBytes) * this.preAllocBytes
    try {
      await file.setSize(size)
      this.size = size
    } catch (error) {
      if (faultCode(error) !== 'ENOSPC') throw error
    }
  }

  private fillAhead(file: WriteHandle): void {
    const { position } = this
    if (this.filling !== undefined || this.filledTo - position > fillMarginBytes) return
    const from = Math.max(this.filledTo, position + endMarkBytes)
    if (from + fillBytes > this.size) return
    zeros ??= new Uint8Array(fillBytes)
    this.filledTo = from + fillBytes
    this.filling = file.write(zeros, from).then(
      () => {
        this.filling = undefined
      },
      (error: unknown) => {
        this.filling = undefined
        // Without room for zeros there may still be room for records. Any other failure is also theirs.
        if (faultCode(error) === 'ENOSPC') this.filledTo = Infinity
        else this.failure = failedBecause(error, this.path)
      },
    )
  }

  /** Closes a file whose records are durable, and cuts off its unused end. */
  private leaveFile(): void {
    this.rollWanted = false
    const { file, filling, position } = this
    if (file === undefined) return
    this.file = this.firstOfFile = undefined
    this.closing = this.closing
      .then(() => filling)
      .then(() => file.setSize(position + endMarkBytes))
      .catch(() => {})
      .then(() => file.close())
      .catch(() => {})
  }

  /**
   * Decides what a failed append means. If there is no room, the part of the batch that was written
   * is cut off, so that it does not follow another batch in the same place.
   */
  private async failureOf(error: unknown): Promise<Error> {
    // Nothing was written yet, and descriptors may become free.
    if (this.file === undefined && isWithoutDescriptor(error)) {
      const message = `no file descriptor is left for the next transaction log in ${this.directory}`
      return new DiskFullError(message, { cause: error })
    }
    if (faultCode(error) !== 'ENOSPC') {
      return (this.failure = failedBecause(error, this.path || this.directory))
    }
    if (this.file !== undefined) {
      try {
        await this.filling
        await this.file.setSize(this.position)
        this.size = this.filledTo = this.position
      } catch (second) {
        return (this.failure = failedBecause(second, this.path))
      }
    }
    const where = this.file === undefined ? this.directory : this.path
    return new DiskFullError(`no room to append to the transaction log in ${where}`, {
      cause: error,
    })
  }
}

function isWithoutDescriptor(error: unknown): boolean {
  const code = faultCode(error)
  return code === 'EMFILE' || code === 'ENFILE'
}

function failedBecause(error: unknown, path: string): LogFailedError {
  const reason = error instanceof Error ? error.message : String(error)
  return new LogFailedError(
    `the transaction log ${path} cannot be written: ${reason}. Its content is no longer known, ` +
      'so the server stops; a restart continues from what is durable.',
    { cause: error },
  )
}
