import { Reader, TxnHeader } from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import type { Database } from '../state/database.ts'
import { loadDatabase, LoadingDatabase } from '../storage/recovery/load.ts'
import type { LogBatch } from '../storage/log/log-batch.ts'
import { truncateAfter } from '../storage/log/truncate.ts'
import type { CommittedLog, LoggedTxn } from '../storage/log/committed-log.ts'
import { decodeTxn } from '../consensus/zab/decoded-txn.ts'
import { Deferred } from '../base/deferred.ts'
import type { PacketLink } from './links/packet-link.ts'
import { receiveSnapshot } from './links/snapshot-stream.ts'
import type { EnsembleParts } from './ensemble-parts.ts'
import type { Journal } from './journal.ts'

/** What this server was to keep, its disk does not take. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError'
}

type HistoryParts = Pick<
  EnsembleParts,
  'db' | 'databaseOptions' | 'recovery' | 'disk' | 'log' | 'committedLog' | 'wake'
> & {
  /** What is to be logged next. */
  readonly batch: () => LogBatch
  readonly journal: Journal
}

/**
 * What this server has of the common history, in its log and in its database: how far it goes, how
 * far it is durable, and how it becomes another's.
 */
export class LocalHistory {
  appendedZxid: bigint
  private readonly parts: HistoryParts
  private loggedZxid: bigint
  private readonly flushing: { upTo: bigint; done: Deferred<void> }[] = []
  /** Why nothing is waited for any more. */
  private ended: Error | undefined

  constructor(parts: HistoryParts) {
    this.parts = parts
    this.loggedZxid = this.appendedZxid = parts.db.lastZxid
  }

  /** The last transaction that is logged, or on its way there, or applied. */
  get lastZxid(): bigint {
    const { lastZxid } = this.parts.db
    return this.appendedZxid > lastZxid ? this.appendedZxid : lastZxid
  }

  append({ zxid, payload }: LoggedTxn): void {
    const batch = this.parts.batch()
    batch.begin()
    batch.writer.raw(payload)
    batch.end(zxid)
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

  /** Whether the log still gets anywhere is not known here; nobody votes with it any more. */
  stop(reason: Error): void {
    this.ended = reason
    for (const { done } of this.flushing.splice(0)) done.reject(reason)
  }

  /** Takes what is logged into the database, committed or not. */
  apply({ zxid, payload }: LoggedTxn): void {
    const { header, txn } = decodeTxn(zxid, payload, this.parts.db.memory)
    this.parts.db.apply(header, txn)
    this.parts.committedLog.add({ zxid, payload })
  }

  /** Another database takes the place of ours. */
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
    // Before it is ours: whoever waits to take a snapshot goes on the moment this is done.
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

  /** Back to what a restart would read. */
  async reload(): Promise<void> {
    const { disk, recovery, databaseOptions, log, committedLog } = this.parts
    await log.close()
    committedLog.clear()
    const { db } = await loadDatabase(disk, recovery, databaseOptions, recordInto(committedLog))
    this.become(db)
    log.restart(db.lastZxid)
  }

  /** Stores what came from the leader, and nothing from before it stays. */
  async takeSnapshot(): Promise<void> {
    const taken = await this.parts.journal.storeAlone()
    // Of whatever kind the trouble is, what was sent is large: it is not asked for in a storm.
    if (taken === undefined) {
      throw new NoRoomError('the snapshot from the leader could not be stored')
    }
    this.loggedZxid = this.appendedZxid = this.parts.db.lastZxid
  }
}

/** Keeps what recovery replays, as the history that learners are brought up from. */
export function recordInto(committedLog: CommittedLog): (payload: Uint8Array) => void {
  return (payload) => {
    const kept = new Uint8Array(payload)
    committedLog.add({ zxid: TxnHeader.read(new Reader(kept)).zxid, payload: kept })
  }
}
