import { mkdir } from 'node:fs/promises'
import { snapshotReach } from '@zabra/core'
import { DirectoryInUseError, lockDirectory, zlibCompression } from '@zabra/server'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Io } from '../framework/io.ts'
import { hex } from '../node/stat.ts'
import { disk } from '../offline/files.ts'
import { timeOf } from '../offline/show-transaction.ts'
import { version } from '../version.ts'
import { listFolders, readNewest, removeUnneeded, type Backup } from './chain.ts'
import { FolderTarget } from './folder-target.ts'
import {
  folderName,
  manifestName,
  manifestText,
  sumsName,
  sumsText,
  type LogPart,
  type Manifest,
  type SnapshotPart,
} from './manifest.ts'
import {
  checksumText,
  RecordCollector,
  type LogSegment,
  type LogStart,
} from './record-collector.ts'
import { BrokenChainError, type BackupSource } from './source.ts'
import { TarTarget } from './tar-target.ts'
import type { BackupTarget } from './target.ts'

export interface TakeOptions {
  readonly source: BackupSource
  /** Takes a full backup even if the log would be enough. */
  readonly isFull: boolean
  /** Takes a full backup after this many others. */
  readonly fullEvery: number | undefined
  /** A full backup begins with a new snapshot instead of the newest existing one. */
  readonly isFresh: boolean
  /** The number of full backups to keep, with their continuations. */
  readonly keep: number | undefined
  readonly note: (text: string) => void
  readonly onBytes: (bytes: number) => void
}

export interface Taken {
  readonly folder: string
  readonly manifest: Manifest
  /** Folders that were removed because they are no longer needed. */
  readonly removed: readonly string[]
}

/** Takes a backup into a directory; undefined if nothing has changed since the last one. */
export async function takeIntoDirectory(
  directory: string,
  options: TakeOptions,
): Promise<Taken | undefined> {
  await mkdir(directory, { recursive: true })
  const lock = locked(directory)
  try {
    const previous = await readNewest(directory)
    await removeUnneeded(directory, previous?.manifest.keepsFrom ?? 0)
    const fulls = await fullBackups(directory, previous)
    const sinceFull = previous === undefined ? 0 : previous.manifest.number - (fulls.at(-1) ?? 0)
    const isFull =
      options.isFull || (options.fullEvery !== undefined && sinceFull >= options.fullEvery)
    const takenOne = await take({
      ...options,
      isFull,
      previous,
      keepsFrom: (kind, number) => {
        const kept = kind === 'full' ? [...fulls, number] : fulls
        const oldest = options.keep === undefined ? undefined : kept.at(-options.keep)
        return Math.max(previous?.manifest.keepsFrom ?? number, oldest ?? 0)
      },
      open: (folder) => FolderTarget.open(directory, folder),
    })
    if (takenOne === undefined) return undefined
    const removed = await removeUnneeded(directory, takenOne.manifest.keepsFrom)
    return { ...takenOne, removed }
  } finally {
    lock.release()
  }
}

/** Writes a backup to stdout as a tar stream. */
export async function takeToStream(
  io: Io,
  previous: Backup | undefined,
  options: TakeOptions,
): Promise<Taken | undefined> {
  const takenOne = await take({
    ...options,
    previous,
    keepsFrom: (_, number) => previous?.manifest.keepsFrom ?? number,
    open: async (folder) => new TarTarget(io.stdout, folder),
  })
  return takenOne && { ...takenOne, removed: [] }
}

function locked(directory: string): { release(): void } {
  try {
    return lockDirectory(directory)
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw error
    throw new CommandError(`another backup is being written to ${directory}`, {
      code: 'inUse',
      exitCode: exitCodes.conflict,
      hint: error.message.replace(/^.*(?=Stop)/, '').replace('one first', 'process'),
      cause: error,
    })
  }
}

/** The numbers of the full backups to keep. */
async function fullBackups(
  directory: string,
  newest: Backup | undefined,
): Promise<readonly number[]> {
  const keepsFrom = newest?.manifest.keepsFrom ?? 0
  return (await listFolders(directory))
    .filter(({ folder, number }) => number >= keepsFrom && folder.endsWith('-full'))
    .map(({ number }) => number)
}

interface Steps extends TakeOptions {
  readonly previous: Backup | undefined
  readonly keepsFrom: (kind: Manifest['kind'], number: number) => number
  readonly open: (folder: string) => Promise<BackupTarget>
}

async function take(steps: Steps): Promise<Omit<Taken, 'removed'> | undefined> {
  if (steps.previous === undefined || steps.isFull) return takeFull(steps)
  try {
    return await takeLog(steps, steps.previous)
  } catch (error) {
    if (!(error instanceof BrokenChainError)) throw error
    steps.note(`a full backup is taken, because ${because(error)}`)
    return takeFull(steps)
  }
}

function because({ reason, message }: BrokenChainError): string {
  switch (reason) {
    case 'purged':
      return `the server has no logs from the last backup on any more (${message})`
    case 'otherHistory':
      return `the server has another history than the last backup (${message})`
    case 'gap':
      return `the logs of the server have a gap (${message})`
  }
}

async function takeLog(
  steps: Steps,
  previous: Backup,
): Promise<Omit<Taken, 'removed'> | undefined> {
  const draft = new Draft(steps, 'log')
  try {
    const collector = new RecordCollector(endingAt(previous.manifest.last), (segment) =>
      draft.addLog(segment),
    )
    const { takenAt } = await steps.source.copyLog(collector)
    await collector.end()
    if (!draft.hasLogs) return undefined
    return await draft.finish(takenAt, { continues: true })
  } catch (error) {
    if (!(await draft.abandon())) throw asFinal(error as Error)
    throw error
  }
}

/** A stream that has begun cannot be restarted. */
function asFinal(error: Error): Error {
  if (!(error instanceof BrokenChainError)) return error
  return new CommandError(error.message, { code: 'damaged', cause: error })
}

async function takeFull(steps: Steps): Promise<Omit<Taken, 'removed'>> {
  const { source, isFresh, previous, note } = steps
  let wantsFresh = isFresh
  let goesOn = true
  for (;;) {
    const draft = new Draft(steps, 'full')
    try {
      const snapshot = await source.openSnapshot(wantsFresh)
      if (!(await draft.addSnapshot(snapshot)))
        throw new DamagedSnapshotError(snapshot.name, source)
      const last = goesOn ? previous?.manifest.last : undefined
      const from = last && endingAt(last)
      // With the transactions since the last backup, every point in between can be restored.
      const isOlder = from?.checksum !== undefined && from.zxid < snapshot.zxid
      return await draft.copy(isOlder ? from : { zxid: snapshot.zxid, checksum: undefined })
    } catch (error) {
      if (!(await draft.abandon())) throw asFinal(error as Error)
      if (error instanceof DamagedSnapshotError && !wantsFresh) {
        note(`${error.message}; a new snapshot is taken`)
        wantsFresh = true
      } else if (error instanceof BrokenChainError && goesOn && previous !== undefined) {
        note(`this backup does not go on from the last one: ${error.message}`)
        goesOn = false
      } else if (error instanceof BrokenChainError) {
        throw new CommandError(`the logs do not follow the snapshot: ${error.message}`, {
          code: 'damaged',
          hint: 'try again with --fresh; `zabra snapshot verify` checks the files of a server',
          cause: error,
        })
      } else throw error
    }
  }
}

class DamagedSnapshotError extends CommandError {
  constructor(file: string, source: BackupSource) {
    super(`${file} of ${source.name} is damaged`, { code: 'damaged' })
  }
}

/** The position where a log continues. */
function endingAt({ zxid, checksum }: Manifest['last']): LogStart {
  return {
    zxid: BigInt(zxid),
    checksum: checksum === null ? undefined : Number.parseInt(checksum, 16) | 0,
  }
}

/** Stands for the end of the backup. */
const unknownReach = 0xffffffffffffffffn

/** A backup that is being written. */
class Draft {
  private readonly steps: Steps
  private readonly kind: Manifest['kind']
  private readonly number: number
  private target: BackupTarget | undefined
  private folder = ''
  private snapshot: SnapshotPart | null = null
  private logs: LogPart[] = []
  private last: Manifest['last'] | undefined

  constructor(steps: Steps, kind: Manifest['kind']) {
    this.steps = steps
    this.kind = kind
    this.number = (steps.previous?.manifest.number ?? 0) + 1
  }

  get hasLogs(): boolean {
    return this.logs.length > 0
  }

  /** Adds a snapshot; false if it is not sound. A stream can be checked only when it is read. */
  async addSnapshot(given: Awaited<ReturnType<BackupSource['openSnapshot']>>): Promise<boolean> {
    const { name, zxid, bytes, chunks } = given
    const target = await this.open()
    const written = await target.write(name, bytes, this.counted(chunks))
    if (written.bytes !== bytes) return false
    let reaches: bigint | undefined
    if (target instanceof FolderTarget) {
      const file = { name, zxid, bytes }
      const reach = await snapshotReach(disk, target.unfinishedPath, file, zlibCompression)
      if (reach === undefined) return false
      if (reach.isCertain) reaches = reach.zxid > zxid ? reach.zxid : zxid
    }
    // If it does not say how far it reaches, it is exact after everything that is copied next.
    this.snapshot = {
      name,
      ...written,
      zxid: hex(zxid),
      reaches: hex(reaches ?? unknownReach),
      reachesTime: null,
    }
    this.last = { zxid: hex(zxid), time: null, checksum: null, digest: null }
    return true
  }

  async copy(after: LogStart): Promise<Omit<Taken, 'removed'>> {
    const { source, previous } = this.steps
    const last = previous && endingAt(previous.manifest.last)
    const reaches = BigInt(this.snapshot!.reaches)
    const collector = new RecordCollector(after, (segment) => this.addLog(segment), [
      reaches,
      ...(last === undefined ? [] : [last.zxid]),
    ])
    const { takenAt } = await source.copyLog(collector)
    await collector.end()
    const { passed } = collector
    const checksum = last && passed.get(last.zxid)?.checksum
    const continues =
      after.checksum !== undefined || (checksum !== undefined && checksum === last?.checksum)
    const timeMs = passed.get(reaches)?.timeMs
    if (timeMs !== undefined) this.snapshot = { ...this.snapshot!, reachesTime: timeOf(timeMs) }
    return this.finish(takenAt, { continues })
  }

  async addLog(segment: LogSegment): Promise<void> {
    const { name, bytes, transactions, first, last, lastChecksum } = segment
    const target = await this.open()
    const written = await target.write(name, bytes.length, this.counted([bytes]))
    this.logs.push({
      name,
      ...written,
      transactions,
      first: hex(first.zxid),
      last: hex(last.zxid),
      firstTime: timeOf(first.timeMs),
      lastTime: timeOf(last.timeMs),
    })
    this.last = {
      zxid: hex(last.zxid),
      time: timeOf(last.timeMs),
      checksum: checksumText(lastChecksum),
      digest: last.digest === undefined ? null : hex(last.digest),
    }
  }

  async finish(
    takenAt: string,
    { continues }: { readonly continues: boolean },
  ): Promise<Omit<Taken, 'removed'>> {
    const { steps, number, kind } = this
    const target = await this.open()
    const last = this.last!
    const snapshot = this.snapshot && {
      ...this.snapshot,
      ...(BigInt(this.snapshot.reaches) === unknownReach
        ? { reaches: last.zxid, reachesTime: last.time }
        : {}),
    }
    if (snapshot !== null && BigInt(snapshot.reaches) > BigInt(last.zxid))
      throw new CommandError(
        `${snapshot.name} holds parts of transactions up to ${snapshot.reaches}, and the logs end at ${last.zxid}`,
        { code: 'damaged' },
      )
    const { previous } = steps
    const manifest: Manifest = {
      zabra: 'backup',
      version: 1,
      number,
      kind,
      takenAt,
      source: steps.source.name,
      writtenBy: `zabra ${version()}`,
      previous:
        previous === undefined ? null : { folder: previous.folder, sha256: previous.sha256 },
      continues,
      keepsFrom: steps.keepsFrom(kind, number),
      snapshot,
      logs: this.logs,
      last,
    }
    const sums = new Map<string, string>()
    for (const { name, sha256 } of snapshot === null ? this.logs : [snapshot, ...this.logs])
      sums.set(name, sha256)
    const text = Buffer.from(manifestText(manifest))
    sums.set(manifestName, (await target.write(manifestName, text.length, [text])).sha256)
    const sumsBytes = Buffer.from(sumsText(sums))
    await target.write(sumsName, sumsBytes.length, [sumsBytes])
    await target.commit()
    return { folder: this.folder, manifest }
  }

  /** False if what was written cannot be undone. */
  async abandon(): Promise<boolean> {
    return (await this.target?.abandon()) ?? true
  }

  private async open(): Promise<BackupTarget> {
    if (this.target === undefined) {
      this.folder = folderName(this.number, new Date().toISOString(), this.kind)
      this.target = await this.steps.open(this.folder)
    }
    return this.target
  }

  private async *counted(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of chunks) {
      this.steps.onBytes(chunk.length)
      yield chunk
    }
  }
}
