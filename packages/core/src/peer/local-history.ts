import { Reader, TxnHeader } from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import type { Database } from '../state/database.ts'
import { loadDatabase, LoadingDatabase, type ReplayListener } from '../storage/recovery/load.ts'
import type { Batches } from '../storage/log/log-batch.ts'
import { truncateAfter } from '../storage/log/truncate.ts'
import type { CommittedLog, LoggedTxn } from '../storage/log/committed-log.ts'
import { decodeTxn } from '../consensus/zab/decoded-txn.ts'
import { Deferred } from '../base/deferred.ts'
import type { PacketLink } from './links/packet-link.ts'
import { receiveSnapshot } from './links/snapshot-stream.ts'
import type { EnsembleParts } from './ensemble-parts.ts'
import type { Journal } from './journal.ts'

/** The disk has no room for data this server must store. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError'
}

type HistoryParts = Pick<
  EnsembleParts,
  'db' | 'databaseOptions' | 'recovery' | 'disk' | 'log' | 'committedLog' | 'wake'
> & {
  readonly batches: Batches
  readonly journal: Journal
}

/**
 * This server's part of the common history, in its log and its database: how far it reaches, how far
 * it is durable, and how it is replaced by the leader's.
 */
export class LocalHistory {
  private appendedZxid: bigint
  private readonly parts: HistoryParts
  private loggedZxid: bigint
  private readonly flushing: { upTo: bigint; done: Deferred<void> }[] = []
  /** Why `flush` does not wait any more. */
  private ended: Error | undefined

  constructor(parts: HistoryParts) {
    this.parts = parts
    this.loggedZxid = this.appendedZxid = parts.db.lastZxid
  }

  /** The last transaction that is logged, being logged, or applied. */
  get lastZxid(): bigint {
    const { lastZxid } = this.parts.db
    return this.appendedZxid > lastZxid ? this.appendedZxid : lastZxid
  }

  append({ zxid, payload }: LoggedTxn): void {
    const batch = this.parts.batches.next
    batch.begin()
    batch.writer.raw(payload)
    batch.end(zxid)
    this.appended(zxid)
  }

  /** A transaction is in a batch of the log. */
  appended(zxid: bigint): void {
    this.appendedZxid = zxid
    this.parts.wake()
  }

  /** The log holds everything up to here. */
  logged(upTo: bigint): void {
    this.loggedZxid = upTo
    while (this.flushing.length > 0 && this.flushing[0]!.upTo <= upTo) {
      this.flushing.shift()!.done.resolve()
    }
  }

  /** Resolves when everything appended so far is durable. */
  flush(): Promise<void> {
    if (this.loggedZxid >= this.appendedZxid) return Promise.resolve()
    if (this.ended !== undefined) return Promise.reject(this.ended)
    const done = new Deferred<void>()
    this.flushing.push({ upTo: this.appendedZxid, done })
    return done.promise
  }

  /** Rejects all pending flushes: the log may never finish, and this server does not vote again. */
  stop(reason: Error): void {
    this.ended = reason
    for (const { done } of this.flushing.splice(0)) done.reject(reason)
  }

  /** Applies a logged transaction, committed or not. */
  apply({ zxid, payload }: LoggedTxn): void {
    const { header, txn } = decodeTxn(zxid, payload, this.parts.db.memory)
    this.parts.db.apply(header, txn)
    this.parts.committedLog.add({ zxid, payload })
  }

  /** False if the last transaction in the log has another digest than the tree. */
  get hasDigestOfLog(): boolean {
    const { db, committedLog } = this.parts
    const last = committedLog.all().at(-1)
    if (!db.options.digests || !db.isExact || last?.zxid !== db.lastTxnZxid) return true
    const { digest } = decodeTxn(last.zxid, last.payload, db.memory)
    return digest === undefined || BigInt.asUintN(64, digest) === db.tree.digest.value
  }

  /** Replaces the content of the database. */
  become(db: Database): void {
    this.parts.db.adopt(db)
    this.loggedZxid = this.appendedZxid = db.lastZxid
  }

  async loadFrom(link: PacketLink, zxid: bigint): Promise<void> {
    const { databaseOptions, log } = this.parts
    const loading = new LoadingDatabase(databaseOptions)
    await receiveSnapshot(link, loading)
    loading.lastZxid = zxid
    loading.db.finishLoading()
    // Before it is adopted, because a waiting snapshot starts the moment this is done.
    loading.db.isExact = false
    await this.parts.journal.undisturbed(async () => {
      await log.close()
      this.become(loading.db)
      log.restart(zxid)
      this.loggedZxid = this.appendedZxid = zxid
    })
  }

  truncate(zxid: bigint): Promise<void> {
    const { disk, recovery, log, db } = this.parts
    return this.parts.journal.undisturbed(async () => {
      await log.close()
      await log.rebase(zxid)
      await truncateAfter(disk, recovery, zxid)
      await this.reload()
      assert(db.lastZxid === zxid, 'a truncated log ends where it was cut')
    })
  }

  /** Goes back to what a restart would read. */
  async reload(): Promise<void> {
    const { disk, recovery, databaseOptions, log, committedLog } = this.parts
    await log.close()
    const { db } = await loadDatabase(disk, recovery, databaseOptions, recordInto(committedLog))
    this.become(db)
    log.restart(db.lastZxid)
  }

  /** Stores the database that the leader sent, and removes everything older, or puts it aside. */
  async takeSnapshot(keepsOldFiles = false): Promise<void> {
    const taken = await this.parts.journal.storeAlone(keepsOldFiles)
    // Whatever the cause, the snapshot is large, so this server waits before it asks for it again.
    if (taken === undefined) {
      throw new NoRoomError('the snapshot from the leader could not be stored')
    }
    this.loggedZxid = this.appendedZxid = this.parts.db.lastZxid
  }
}

/** Keeps the transactions that recovery replays, to send them to learners. */
export function recordInto(committedLog: CommittedLog): ReplayListener {
  return {
    begin: () => committedLog.clear(),
    replayed: (payload) => {
      const kept = new Uint8Array(payload)
      committedLog.add({ zxid: TxnHeader.read(new Reader(kept)).zxid, payload: kept })
    },
  }
}
