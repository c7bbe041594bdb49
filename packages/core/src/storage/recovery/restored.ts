import type { Acl, Reader } from '@zabra/protocol'
import type { Database, DatabaseOptions } from '../../state/database.ts'
import type { Disk } from '../../ports.ts'
import { LoadingDatabase } from './load.ts'
import { loadSnapshot, SnapshotError, type SnapshotSink } from '../snapshot/snapshot.ts'
import type { Compression } from '../snapshot/snapshot-output.ts'

/** A database from an uploaded snapshot, to replace the present one. */
export interface RestoredDatabase {
  readonly db: Database
  /** The last transaction that it contains completely. */
  readonly zxid: bigint
  /** The last transaction of which it may contain parts, because the tree changed during writing. */
  readonly reached: bigint
}

/** Throws SnapshotError if the file is not sound from end to end. */
export async function loadRestored(
  disk: Disk,
  directory: string,
  file: string,
  options: DatabaseOptions,
  compression?: Compression,
): Promise<RestoredDatabase> {
  const sink = new RestoredSink(options)
  await loadSnapshot(disk, directory, file, sink, compression)
  const zxid = sink.zxid ?? sink.reached
  if (zxid === 0n && sink.zxid === undefined) {
    throw new SnapshotError('it does not record its last transaction: it is older than 3.6')
  }
  const { db } = sink.loading
  db.finishLoading()
  return { db, zxid, reached: zxid > sink.reached ? zxid : sink.reached }
}

class RestoredSink implements SnapshotSink {
  readonly loading: LoadingDatabase
  zxid: bigint | undefined
  reached = 0n

  constructor(options: DatabaseOptions) {
    this.loading = new LoadingDatabase(options)
  }

  expect(bytes: number): void {
    this.loading.expect(bytes)
  }

  session(id: bigint, timeoutMs: number): void {
    this.loading.session(id, timeoutMs)
  }

  acl(id: bigint, acl: Acl[]): void {
    this.loading.acl(id, acl)
  }

  node(reader: Reader): boolean {
    return this.loading.node(reader)
  }

  digest(zxid: bigint): void {
    this.reached = zxid
  }

  endedAt(zxid: bigint): void {
    this.zxid = zxid
  }
}
