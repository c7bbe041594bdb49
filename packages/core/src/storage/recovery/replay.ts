import { fileHeaderBytes, MalformedError } from '@zabra/protocol'
import { faultCode, type Disk } from '../../ports.ts'
import { indexCovering, unfinishedName, type StoredFile } from '../disk/files.ts'
import { isNextZxid } from '../zxid.ts'
import { judgeEnd, type Verdict } from '../log/log-damage.ts'
import { LogFileReader, type LogReaderOptions, type LogRecords } from '../log/log-reader.ts'
import { cutOff, makeDurable } from '../log/make-durable.ts'
import type { EndCheck, EndVerdict } from './missing-end.ts'
import { RecoveryError } from './recovery-error.ts'
import { hex } from '../../base/hex.ts'
import type { RecoveryEvent } from './recovery-events.ts'
import type { RecoveryOptions, RecoveryTarget } from './recovery.ts'

export interface Replayed {
  readonly zxid: bigint
  readonly records: number
  readonly damageAccepted: boolean
  /** The end of the logs is missing, and other servers have it. */
  readonly lacksEnd: boolean
}

type Trace = (event: RecoveryEvent) => void

/** A position in the logs after which nothing can be trusted. */
class Damage extends Error {
  readonly position: number
  readonly remedy: string

  constructor(problem: string, position: number, remedy: string) {
    super(problem)
    this.position = position
    this.remedy = remedy
  }
}

/** What a replay starts from. */
export interface ReplayParts {
  readonly disk: Disk
  readonly options: RecoveryOptions
  readonly snapshotZxid: bigint
  /** Newer snapshots that could not be used. */
  readonly skipped: readonly StoredFile[]
  readonly target: RecoveryTarget
  readonly trace: Trace
  readonly end: EndCheck
}

/** Applies every logged transaction after the snapshot, and repairs the end of the newest log. */
export async function replayLogs(
  logs: readonly StoredFile[],
  parts: ReplayParts,
): Promise<Replayed> {
  const { options, snapshotZxid } = parts
  const replay = new Replay(parts)
  const files = logs.slice(indexCovering(logs, snapshotZxid + 1n))
  for (const [i, file] of files.entries()) {
    try {
      await replay.file(file, i === files.length - 1)
    } catch (error) {
      if (!(error instanceof Damage)) throw error
      const path = `${options.logDir}/${file.name}`
      if (options.acceptDamage !== true) throw new RecoveryError(path, error.message, error.remedy)
      await replay.setAside(file.name, error.position)
      for (const later of files.slice(i + 1)) await replay.setAside(later.name, 0)
      break
    }
  }
  if (files.length === 0) replay.judgeReached()
  await replay.removeEmptyLogs()
  return replay
}

class Replay implements Replayed {
  zxid: bigint
  records = 0
  damageAccepted = false
  lacksEnd = false
  private readonly parts: ReplayParts
  /** The position where the previous file became unreadable, as long as the effect is unknown. */
  private unreadableEnd: { file: string; position: number; damage: string | undefined } | undefined
  /** The previous file, if it ended without a mark: as Apache's do, and those that lost their end. */
  private unmarkedEnd: string | undefined
  private lastFile: string
  private readonly emptyLogs: { file: string; bytes: number }[] = []

  constructor(parts: ReplayParts) {
    const { snapshotZxid } = parts
    this.parts = parts
    this.zxid = snapshotZxid
    this.lastFile = `the snapshot of zxid ${hex(snapshotZxid)}`
  }

  async file({ name, zxid: firstZxid }: StoredFile, isNewest: boolean): Promise<void> {
    const path = `${this.parts.options.logDir}/${name}`
    const log = await this.open(path)
    try {
      const before = this.records
      for await (const records of log) this.applyAll(records, name)
      if (this.records > before) {
        this.parts.trace({
          type: 'logReplayed',
          file: path,
          records: this.records - before,
          lastZxid: this.zxid,
        })
      }
      // A log is named after its first record: even without records, the name must follow.
      if (log.lastZxid === 0n && firstZxid > this.zxid) this.refuseGap(firstZxid, 0, name)
      if (log.end.reason === 'noHeader') {
        if (isNewest) await this.judgeEndOf(log, await judgeEnd(log))
        else if (log.bytes > 0) this.unreadableEnd ??= blankEnd(path)
        this.emptyLogs.push({ file: path, bytes: log.bytes })
      } else if (isNewest) await this.endNewest(log, firstZxid)
      else if (log.end.reason !== 'endMark') {
        // A log that was truncated ends without a mark, and with its last record.
        if (log.end.position < log.bytes) this.unmarkedEnd = path
        if (log.end.reason !== 'end')
          this.unreadableEnd ??= await this.unreadableEndOf(log, firstZxid)
      }
    } finally {
      await log.close()
    }
  }

  private async open(path: string): Promise<LogFileReader> {
    try {
      return await LogFileReader.open(this.parts.disk, path, this.readerOptions)
    } catch (error) {
      const code = faultCode(error)
      if (code === undefined) throw error
      const problem = code === 'ENOENT' ? 'it is a link to a missing file' : 'it cannot be opened'
      throw new RecoveryError(
        path,
        `${problem} (${code})`,
        'restore the file, or remove this entry if its transactions may be lost',
      )
    }
  }

  /** Refuses if the database does not reach as far as it once did. */
  judgeReached(): EndVerdict {
    const verdict = this.parts.end.judge(this.zxid)
    this.lacksEnd = verdict === 'lacking'
    return verdict
  }

  /** The same, before anything of the newest log is cut off. */
  private async judgeEndOf(log: LogFileReader, verdict: Verdict): Promise<void> {
    const { durableTo } = this.parts.end
    // Read again before anything counts as missing.
    if (durableTo !== undefined && durableTo > this.zxid) await this.refuseFickle(log, verdict)
    if (this.judgeReached() !== 'accepted' || verdict.kind !== 'torn') return
    throw new Damage('its end is missing', verdict.position, 'restore it')
  }

  /**
   * An unfinished write at the end of an older log is harmless: Apache leaves it there. So is damage
   * where the snapshot holds everything, as when this log was the newest, if the digest of the next
   * transaction can tell whether the end is missing.
   */
  private async unreadableEndOf(
    log: LogFileReader,
    firstZxid: bigint,
  ): Promise<typeof this.unreadableEnd> {
    const verdict = await judgeEnd(log)
    const { kind, because } = verdict
    const isHarmless =
      kind !== 'damaged' ||
      (this.parts.target.comparesDigests && this.isBelowSnapshot(log, firstZxid, verdict))
    if (isHarmless) await this.refuseFickle(log, verdict)
    const damage = isHarmless ? undefined : because
    return { file: log.path, position: log.end.position, damage }
  }

  private get readerOptions(): LogReaderOptions {
    const { recordBytesMax } = this.parts.options
    return recordBytesMax === undefined ? {} : { recordBytesMax }
  }

  private applyAll(records: LogRecords, name: string): void {
    while (records.next()) {
      const { zxid, reader } = records
      if (zxid <= this.zxid) {
        if (zxid <= this.parts.snapshotZxid) continue
        throw new Damage(
          `it contains zxid ${hex(zxid)} again, although ${this.lastFile} reached ${hex(this.zxid)}`,
          records.position,
          'remove the one of the two files that does not belong here',
        )
      }
      this.refuseGap(zxid, records.position, name)
      const wasRight = !this.parts.target.differsFromLog
      try {
        this.parts.target.apply(reader)
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
        throw new Damage(
          `the transaction ${hex(zxid)} at byte ${records.position} cannot be understood (${error.message})`,
          records.position,
          'use a newer version, or start once with recovery.acceptDamage=true to continue without it and everything after it',
        )
      }
      if (wasRight) this.refuseLostEnd(zxid, records.position)
      this.zxid = this.parts.target.lastZxid = zxid
      this.lastFile = name
      this.unmarkedEnd = undefined
      this.records++
    }
  }

  /**
   * The first transaction of an epoch does not tell what the epoch before ended with, but its digest
   * does: if the tree is wrong from here on, transactions before it are missing.
   */
  private refuseLostEnd(zxid: bigint, position: number): void {
    const { target, options } = this.parts
    const file = this.unmarkedEnd
    if (file === undefined || zxid === this.zxid + 1n || !target.differsFromLog) return
    if (options.acceptDamage === true) return
    throw new Damage(
      `it begins a new epoch with another tree than ${file} leads to: transactions at the end of ` +
        `that log, after zxid ${hex(this.zxid)}, are missing`,
      position,
      `restore ${file} from a copy; or empty the directory, if an ensemble has the data; ` +
        'or start once with recovery.acceptDamage=true to continue without them',
    )
  }

  private refuseGap(zxid: bigint, position: number, name: string): void {
    const last = this.zxid
    const open = this.unreadableEnd
    if (!isNextZxid(last, zxid)) {
      const seen =
        open === undefined ? '' : `; ${open.file} cannot be read beyond byte ${open.position}`
      throw new Damage(
        `it starts at zxid ${hex(zxid)}, but ${this.lastFile} ends at ${hex(last)}: the ` +
          `transactions in between are missing${seen}`,
        position,
        'restore the missing file, or start once with recovery.acceptDamage=true to end the database before the gap',
      )
    }
    this.refuseOtherHistory(zxid, position)
    if (open === undefined) return
    // The next counter proves that nothing is missing; the first of a new epoch proves nothing.
    if (zxid !== last + 1n && open.damage !== undefined) {
      throw new Damage(
        `it begins a new epoch, but ${open.file} is damaged at byte ${open.position} ` +
          `(${open.damage}), and its transactions after zxid ${hex(last)} are unknown`,
        position,
        `restore ${open.file}, or start once with recovery.acceptDamage=true to end the database before the damage`,
      )
    }
    this.unreadableEnd = undefined
    const { file, position: unreadable } = open
    this.parts.trace({
      type: 'unreadableRestPassed',
      file,
      position: unreadable,
      nextFile: `${this.parts.options.logDir}/${name}`,
    })
  }

  /**
   * A snapshot from a leader replaces everything logged before it, but a crash may leave those logs.
   * If no log leads up to such a snapshot, the logs before it may belong to another history, and only
   * the snapshot itself could tell.
   */
  private refuseOtherHistory(zxid: bigint, position: number): void {
    const last = this.zxid
    const between = this.parts.skipped.find(
      (snapshot) => snapshot.zxid > last && snapshot.zxid < zxid,
    )
    if (between === undefined) return
    const file = `${this.parts.options.snapshotDir}/${between.name}`
    throw new Damage(
      `it continues ${file}, which cannot be read, and no log leads up to that: ${this.lastFile} ` +
        `ends at ${hex(last)} and may belong to another history`,
      position,
      `restore ${file} from a copy; or empty the directory, if an ensemble has the data; ` +
        `or start once with recovery.acceptDamage=true to end the database at ${hex(last)}`,
    )
  }

  /** Cuts off a torn tail, so that the next start finds a proper end of the log. */
  private async endNewest(log: LogFileReader, firstZxid: bigint): Promise<void> {
    const verdict = await judgeEnd(log)
    const { kind, position, restBytes, intactRecords } = verdict
    if (kind !== 'damaged') await this.judgeEndOf(log, verdict)
    if (kind === 'clean') {
      await makeDurable(this.parts.disk, log)
      return
    }
    const file = log.path
    if (kind === 'torn') {
      await this.refuseFickle(log, verdict)
      await cutOff(this.parts.disk, log)
      this.parts.trace({
        type: 'tornTail',
        file,
        position,
        droppedBytes: restBytes,
        droppedRecords: intactRecords,
        durableTo: this.parts.end.durableTo,
      })
    } else if (this.isBelowSnapshot(log, firstZxid, verdict)) {
      await this.refuseFickle(log, verdict)
      this.judgeReached()
      this.parts.trace({ type: 'damageBelowSnapshot', file, position })
    } else {
      throw new Damage(
        `it is damaged at byte ${position}, after zxid ${hex(log.lastZxid)}: ${verdict.because}`,
        position,
        'restore the file from a copy, or start once with recovery.acceptDamage=true to end the database before the damage',
      )
    }
  }

  /** An unreadable snapshot may be newer than the readable ones. */
  private isBelowSnapshot(
    { lastZxid }: LogFileReader,
    firstZxid: bigint,
    { lastIntactZxid, isRestKnown }: Verdict,
  ): boolean {
    const { snapshotZxid } = this.parts
    const badZxid = lastZxid === 0n ? firstZxid : lastZxid + 1n
    return badZxid <= snapshotZxid && lastIntactZxid <= snapshotZxid && isRestKnown
  }

  /** Reads again before anything is dropped, so that a read error of the disk loses no record. */
  private async refuseFickle(log: LogFileReader, verdict: Verdict): Promise<void> {
    const { path, lastZxid } = log
    const again = await LogFileReader.open(this.parts.disk, path, this.readerOptions)
    try {
      for await (const records of again) while (records.next());
      if (isSame(again.end, log.end) && isSame(await judgeEnd(again), verdict)) return
    } finally {
      await again.close()
    }
    throw new RecoveryError(
      path,
      again.lastZxid === lastZxid
        ? `two reads after zxid ${hex(lastZxid)} gave different data`
        : `one read ended at zxid ${hex(lastZxid)}, the next at ${hex(again.lastZxid)}`,
      'check the disk and the memory, and start again',
    )
  }

  /** Keeps the intact part of a log under its name, and the whole file under another. */
  async setAside(name: string, position: number): Promise<void> {
    const { logDir } = this.parts.options
    const path = `${logDir}/${name}`
    const keptAs = `${logDir}/damaged.${name}`
    const unfinished = `${logDir}/${unfinishedName(name)}`
    const hasRecords = position > fileHeaderBytes
    if (hasRecords) await this.copy(path, unfinished, position)
    await this.parts.disk.rename(path, keptAs)
    if (hasRecords) await this.parts.disk.rename(unfinished, path)
    await this.parts.disk.syncDirectory(logDir)
    this.damageAccepted = true
    this.parts.trace({ type: 'damageAccepted', file: path, keptAs, lastZxid: this.zxid })
  }

  private async copy(from: string, to: string, bytes: number): Promise<void> {
    const input = await this.parts.disk.openRead(from)
    const output = await this.parts.disk.create(to)
    try {
      const chunk = new Uint8Array(Math.min(bytes, 1024 * 1024))
      for (let at = 0; at < bytes;) {
        const count = await input.read(at, chunk.subarray(0, Math.min(chunk.length, bytes - at)))
        if (count === 0) break
        await output.write(chunk.subarray(0, count), at)
        at += count
      }
      await output.sync()
    } finally {
      await input.close()
      await output.close()
    }
  }

  /** Apache does not start with an empty log. */
  async removeEmptyLogs(): Promise<void> {
    for (const { file, bytes } of this.emptyLogs) {
      await this.parts.disk.remove(file)
      this.parts.trace({
        type: 'emptyLogRemoved',
        file,
        bytes,
        durableTo: this.parts.end.durableTo,
      })
    }
    if (this.emptyLogs.length > 0) await this.parts.disk.syncDirectory(this.parts.options.logDir)
  }
}

/**
 * A log gets its name when its header is durable, and an empty one is removed before the next is
 * written. So a blank one with others after it held something; only one without a byte may be a
 * leftover of Apache ZooKeeper.
 */
function blankEnd(file: string): { file: string; position: number; damage: string } {
  return { file, position: 0, damage: 'it is blank, although other logs follow it' }
}

/** Whether two records of plain values are equal. */
function isSame<T extends object>(one: T, other: T): boolean {
  return Object.entries(one).every(([name, value]) => other[name as keyof T] === value)
}
