/**
 * Builds the database from files: the newest intact snapshot, and every logged transaction after it.
 *
 * Recovery repairs what a crash leaves behind, and reports it. If an acknowledged transaction might be
 * missing, it refuses instead, and names the file, the reason, and what the operator can do
 * (`refusals.ts`).
 */
import { MalformedError, type Reader } from '@zabra/protocol'
import type { Disk, FileEntry } from '../../ports.ts'
import { faultCode } from '../../ports.ts'
import {
  isLeftover,
  listIfThere,
  logsAmong,
  snapshotsAmong,
  type StoredFile,
} from '../disk/files.ts'
import type { SnapshotSource } from '../../state/snapshot-source.ts'
import type { RecoveryEvent } from './recovery-events.ts'
import {
  refuseEmpty,
  refuseLostEnd,
  refuseMixedDirectories,
  refuseWithoutSnapshot,
} from './refusals.ts'
import { EndCheck } from './missing-end.ts'
import { replayLogs } from './replay.ts'
import { readExtent, writeExtent, type NotedExtent } from '../log/extent.ts'
import {
  loadSnapshot,
  SnapshotError,
  writeSnapshot,
  type SnapshotSink,
} from '../snapshot/snapshot.ts'
import type { Compression } from '../snapshot/snapshot-output.ts'
import { ReachWatch } from '../snapshot/snapshot-reach.ts'
import { looksComplete } from '../snapshot/snapshot-validity.ts'

/** A database being recovered. */
export interface RecoveryTarget extends SnapshotSink {
  /** Set by recovery to the zxid of the snapshot, then of each applied record. */
  lastZxid: bigint
  /** Whether records have a digest that the database is compared with. */
  readonly comparesDigests: boolean
  /** The last record has another digest than the database. */
  readonly differsFromLog: boolean
  /** One log payload: header, body, digest. The bytes are reused afterwards, so copy what must stay. */
  apply(reader: Reader): void
}

export interface RecoveryOptions {
  readonly snapshotDir: string
  readonly logDir: string
  /** Replays logs onto an empty database if there is no snapshot. */
  readonly trustEmptySnapshot?: boolean
  /**
   * Where recovery would refuse, it keeps everything intact up to the damage and sets the rest aside
   * under the names `damaged.*`. The operator confirms by this option that the loss is acceptable.
   */
  readonly acceptDamage?: boolean
  readonly recordBytesMax?: number
  readonly compression?: Compression
  /** How to treat an empty directory; by default, as a new database. */
  readonly whenEmpty?: WhenEmpty
  /** Other servers have the data, so missing transactions are no reason to refuse. */
  readonly othersHaveIt?: boolean
  readonly trace?: (event: RecoveryEvent) => void
}

export interface WhenEmpty {
  /** An empty directory is unexpected. */
  readonly isUnexpected: boolean
  /** A file of this name permits an empty directory once. */
  readonly permission: { readonly directory: string; readonly name: string }
}

export interface Recovered<T> {
  readonly target: T
  readonly zxid: bigint
  readonly snapshotFile: string | undefined
  readonly snapshotZxid: bigint
  readonly recordsReplayed: number
  /** The directory was empty. */
  readonly isFresh: boolean
  /**
   * An acknowledged transaction is missing, or the snapshot contains parts of transactions that the
   * logs do not have. Other servers have the data, and this one must not vote.
   */
  readonly lacksData: boolean
  /** Damaged parts were set aside: a snapshot should be taken at once. */
  readonly damageAccepted: boolean
}

/** Loads the database of a directory, or creates one. */
export async function recover<T extends RecoveryTarget>(
  disk: Disk,
  options: RecoveryOptions,
  makeTarget: () => T,
  sourceOf: (target: T) => SnapshotSource,
): Promise<Recovered<T>> {
  const { snapshotDir, logDir, trace = () => {} } = options
  await disk.makeDirectory(snapshotDir)
  await disk.makeDirectory(logDir)
  const inSnapshotDir = await listIfThere(disk, snapshotDir)
  const inLogDir = snapshotDir === logDir ? inSnapshotDir : await listIfThere(disk, logDir)
  if (snapshotDir !== logDir) refuseMixedDirectories(options, inSnapshotDir, inLogDir)

  const snapshots = snapshotsAmong(inSnapshotDir)
  const logs = logsAmong(inLogDir)
  const chosen = await chooseSnapshot(disk, options, snapshots, makeTarget, trace)
  // If a sync failed or the process was killed before it, the name of the snapshot may exist only in
  // the cache of the system. From now on this server relies on it, so it must survive a power failure.
  if (chosen !== undefined) await disk.syncDirectory(snapshotDir)
  const target = chosen?.target ?? makeTarget()
  const snapshotZxid = chosen?.zxid ?? 0n
  if (chosen === undefined) refuseWithoutSnapshot(options, snapshots, logs, trace)

  const isFresh = snapshots.length === 0 && logs.length === 0
  const isExpected = await isEmptyExpected(disk, options)
  const extent = await readExtent(disk, snapshotDir)
  if (extent === undefined && !isFresh) trace({ type: 'extentUnknown', file: logDir })
  const end = new EndCheck(options, extent, logs)
  let isLost = false
  if (isFresh) {
    isLost = end.judge(0n) === 'lacking'
    if (!isLost && !isExpected) {
      refuseEmpty(options, trace)
      isLost = true
    }
    if (!isLost) await beginEmpty(disk, snapshotDir, sourceOf(target), trace)
  }
  target.lastZxid = snapshotZxid
  const skipped = snapshots.filter(({ zxid }) => zxid > snapshotZxid)
  const parts = { disk, options, snapshotZxid, skipped, target, trace, end }
  const replayed = await replayLogs(logs, parts)
  const isAhead = chosen !== undefined && chosen.reachedZxid > replayed.zxid
  const setAside = await refuseLostEnd(disk, options, snapshots, chosen, replayed.zxid, trace)
  await removeLeftovers(disk, options, inSnapshotDir, inLogDir, trace)
  const lacksData = isLost || replayed.lacksEnd || isAhead
  if (!lacksData) await noteReached(disk, snapshotDir, extent, replayed.zxid)
  return {
    target,
    zxid: replayed.zxid,
    snapshotFile: chosen?.file,
    snapshotZxid,
    recordsReplayed: replayed.records,
    isFresh,
    lacksData,
    damageAccepted: replayed.damageAccepted || setAside || isAhead,
  }
}

/** A new database is a snapshot of what every database contains. */
async function beginEmpty(
  disk: Disk,
  directory: string,
  source: SnapshotSource,
  trace: (event: RecoveryEvent) => void,
): Promise<void> {
  const { file } = await writeSnapshot(disk, directory, source)
  trace({ type: 'freshDirectory', file: `${directory}/${file}` })
}

/** Records that the missing end is gone for good. Does nothing if there is no room for a first note. */
async function noteReached(
  disk: Disk,
  directory: string,
  before: NotedExtent | undefined,
  zxid: bigint,
): Promise<void> {
  const isSynced = before?.isSynced ?? true
  const extent = { zxid, log: undefined, isClosed: true, isSynced }
  const isLower = before !== undefined && before.zxid > zxid
  try {
    const noted = await writeExtent(disk, directory, extent, { newest: before, isDurable: true })
    // The other line must not claim the lost transactions either.
    if (isLower) await writeExtent(disk, directory, extent, { newest: noted, isDurable: true })
  } catch (error) {
    if (isLower || faultCode(error) !== 'ENOSPC') throw error
  }
}

interface Chosen<T> {
  readonly target: T
  readonly file: string
  readonly zxid: bigint
  /** The last transaction that is known to have changed the snapshot. */
  readonly reachedZxid: bigint
}

/** Tries the newest first; a target with a broken snapshot is discarded. */
async function chooseSnapshot<T extends RecoveryTarget>(
  disk: Disk,
  options: RecoveryOptions,
  snapshots: readonly StoredFile[],
  makeTarget: () => T,
  trace: (event: RecoveryEvent) => void,
): Promise<Chosen<T> | undefined> {
  const { snapshotDir, compression } = options
  for (const snapshot of snapshots.toReversed()) {
    const { name: file, zxid } = snapshot
    try {
      if (!(await looksComplete(disk, snapshotDir, snapshot))) {
        throw new SnapshotError('it is not complete')
      }
      const target = makeTarget()
      const sink = new WatchedTarget(target)
      const { bytes } = await loadSnapshot(disk, snapshotDir, file, sink, compression)
      trace({ type: 'snapshotLoaded', file: `${snapshotDir}/${file}`, zxid, bytes })
      return { target, file, zxid, reachedZxid: sink.reach.zxid }
    } catch (error) {
      if (!isAboutTheFile(error)) throw error
      trace({
        type: 'snapshotSkipped',
        file: `${snapshotDir}/${file}`,
        reason: error.message,
      })
    }
  }
  return undefined
}

function isAboutTheFile(error: unknown): error is Error {
  return (
    error instanceof SnapshotError ||
    error instanceof MalformedError ||
    faultCode(error) !== undefined
  )
}

/** Forwards everything, and records how far the content of the snapshot reaches. */
class WatchedTarget implements SnapshotSink {
  readonly reach = new ReachWatch()
  private readonly sink: SnapshotSink

  constructor(sink: SnapshotSink) {
    this.sink = sink
  }

  expect(bytes: number): void {
    this.sink.expect(bytes)
  }

  session(id: bigint, timeoutMs: number): void {
    this.reach.session()
    this.sink.session(id, timeoutMs)
  }

  acl(...args: Parameters<SnapshotSink['acl']>): void {
    this.sink.acl(...args)
  }

  node(reader: Reader): boolean {
    const start = reader.position
    const isNode = this.sink.node(reader)
    if (isNode) this.reach.node(reader, start)
    return isNode
  }

  digest(zxid: bigint, version: number, digest: bigint): void {
    this.reach.digest(zxid)
    this.sink.digest(zxid, version, digest)
  }
}

/** Any start uses up the permission, as in Apache. */
async function isEmptyExpected(disk: Disk, { whenEmpty }: RecoveryOptions): Promise<boolean> {
  if (whenEmpty === undefined) return true
  const { directory, name } = whenEmpty.permission
  const files = await listIfThere(disk, directory)
  if (!files.some((file) => file.name === name)) return !whenEmpty.isUnexpected
  await disk.remove(`${directory}/${name}`)
  await disk.syncDirectory(directory)
  return true
}

async function removeLeftovers(
  disk: Disk,
  { snapshotDir, logDir }: RecoveryOptions,
  inSnapshotDir: readonly FileEntry[],
  inLogDir: readonly FileEntry[],
  trace: (event: RecoveryEvent) => void,
): Promise<void> {
  const paths = new Set<string>()
  for (const { name } of inSnapshotDir) if (isLeftover(name)) paths.add(`${snapshotDir}/${name}`)
  for (const { name } of inLogDir) if (isLeftover(name)) paths.add(`${logDir}/${name}`)
  for (const file of paths) {
    await disk.remove(file)
    trace({ type: 'leftoverRemoved', file })
  }
}
