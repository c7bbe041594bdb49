/** A world whose transactions and snapshots are in files, and a ledger of all that it was. */
import { decodeText, TxnHeader, writeTxnBody, type Acl } from '@zabra/protocol'
import { PastTree } from '../../src/history/past-tree.ts'
import type { Database } from '../../src/state/database.ts'
import { snapshotName } from '../../src/storage/disk/files.ts'
import { MemoryDisk } from '../../src/storage/disk/memory-disk.ts'
import { LogBatch } from '../../src/storage/log/log-batch.ts'
import { TxnLog } from '../../src/storage/log/txn-log.ts'
import type { SnapshotPieces } from './fuzzy-snapshots.ts'
import { World, type Step } from './world.ts'

export const directory = 'data/version-2'
export const places = { logDir: directory, snapshotDir: directory }

/** A node as both a ledger and the past have it. */
export interface Noted {
  readonly data: string | null
  readonly acl: readonly Acl[]
  readonly kind: string
  readonly stat: object
}

export function contentOf(tree: PastTree, top = '/'): Map<string, Noted> {
  const content = new Map<string, Noted>()
  for (const { path, data, acl, kind, stat } of tree.walk(top))
    content.set(path, { data: data && decodeText(data), acl, kind, stat })
  return content
}

/** A world whose log and snapshots are in files, with a ledger of every state it was in. */
export class RecordedWorld {
  readonly disk = new MemoryDisk()
  readonly world = new World()
  readonly ledger = new Map<bigint, Map<string, Noted>>()
  private logged = 0
  private log = this.newLog()
  private snapshot: { readonly zxid: bigint; readonly pieces: SnapshotPieces } | undefined
  private readonly write: (db: Database) => SnapshotPieces

  constructor(write: (db: Database) => SnapshotPieces) {
    this.write = write
    this.note()
  }

  get db(): Database {
    return this.world.db
  }

  private newLog(): TxnLog {
    return new TxnLog(this.disk, { directory, preAllocBytes: 0, lastZxid: this.world.db.lastZxid })
  }

  async start(): Promise<void> {
    await this.disk.makeDirectory(directory)
    this.beginSnapshot()
    await this.endSnapshot()
    this.world.do({ op: 'begin', session: 1n })
    await this.logAll()
    this.world.do({ op: 'begin', session: 2n })
    await this.logAll()
  }

  async do(step: Step): Promise<void> {
    if (step.op === 'write') {
      if (this.snapshot === undefined) {
        await this.roll()
        this.beginSnapshot()
      } else if (this.snapshot.pieces.next().done === true) {
        this.beginSnapshot()
        await this.endSnapshot()
      }
      return
    }
    this.world.do(step)
    await this.logAll()
  }

  async end(): Promise<void> {
    await this.endSnapshot()
    await this.log.close()
  }

  private note(): void {
    this.ledger.set(this.db.lastZxid, contentOf(new PastTree(this.db, this.db.lastZxid)))
  }

  private async logAll(): Promise<void> {
    for (const { header, txn } of this.world.log.slice(this.logged)) {
      const batch = new LogBatch()
      batch.begin()
      TxnHeader.write(batch.writer, header)
      writeTxnBody(batch.writer, txn)
      batch.writer.int(2)
      batch.writer.long(BigInt.asIntN(64, this.db.tree.digest.value))
      batch.end(header.zxid)
      await this.log.append(batch)
      this.note()
    }
    this.logged = this.world.log.length
  }

  private async roll(): Promise<void> {
    await this.log.close()
    this.log = this.newLog()
  }

  private beginSnapshot(): void {
    this.snapshot = { zxid: this.db.lastZxid, pieces: this.write(this.db) }
  }

  private async endSnapshot(): Promise<void> {
    if (this.snapshot === undefined) return
    const { zxid, pieces } = this.snapshot
    this.snapshot = undefined
    let piece = pieces.next()
    while (piece.done !== true) piece = pieces.next()
    const file = await this.disk.create(`${directory}/${snapshotName(zxid)}`)
    await file.write(piece.value, 0)
    await file.close()
  }
}
