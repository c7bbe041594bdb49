import { digestVersion } from '@zabra/protocol'
import type { TreeDigest } from './tree/digest.ts'

/**
 * A difference between the digest of the tree and the one that a transaction or snapshot contains.
 */
export interface DigestMismatch {
  readonly zxid: bigint
  readonly expected: bigint
  readonly actual: bigint
}

/**
 * The digest of the tree after a transaction. Operators compare these to find servers that differ.
 */
export interface LoggedDigest {
  readonly zxid: bigint
  readonly digest: bigint
}

/** The database whose digest is compared. */
export interface Digested {
  readonly tree: { readonly digest: TreeDigest }
  readonly isExact: boolean
  readonly options: { readonly digests: boolean }
}

const loggedMax = 1024

/** Compares the digest of a tree with those of other servers, and keeps a log of its own. */
export class DigestCheck {
  /** Oldest first. */
  readonly log: LoggedDigest[] = []
  /**
   * Called when the tree differs from the tree of the server that made a transaction or snapshot.
   */
  onMismatch: ((mismatch: DigestMismatch) => void) | undefined
  /** The first mismatch from before there was a listener. */
  unreported: DigestMismatch | undefined
  /** The number of successive transactions, up to the last one, after which the tree differed. */
  differingTxns = 0
  private readonly db: Digested
  /**
   * Digests are comparable only after replay has passed everything that a fuzzy snapshot may
   * contain.
   */
  private fuzzyUntil: { zxid: bigint; digest: bigint } | undefined
  /** A mismatch at the end of a fuzzy snapshot, which the next transaction may still resolve. */
  private doubt: DigestMismatch | undefined

  constructor(db: Digested) {
    this.db = db
  }

  /** Adds the present digest to the log, if it means anything. */
  record(zxid: bigint): void {
    const { options, isExact, tree } = this.db
    if (!options.digests || !isExact || this.fuzzyUntil !== undefined) return
    this.log.push({ zxid, digest: tree.digest.value })
    if (this.log.length > loggedMax) this.log.shift()
  }

  /** Compares the digest of the tree with the digest that the transaction requires. */
  check(zxid: bigint, expected: bigint): void {
    const { options, isExact } = this.db
    if (!options.digests || !isExact) return
    const wanted = BigInt.asUintN(64, expected)
    const { fuzzyUntil } = this
    if (fuzzyUntil !== undefined) {
      if (zxid < fuzzyUntil.zxid) return
      this.fuzzyUntil = undefined
      if (zxid === fuzzyUntil.zxid) {
        // Apache ZooKeeper records the digest while another thread may have applied a part of the
        // next transaction, so the nodes already show some of its effects. The digests must agree
        // only after that transaction is replayed as well.
        if (fuzzyUntil.digest === wanted) this.doubt = this.mismatch(zxid, wanted)
        else this.report(this.mismatch(zxid, fuzzyUntil.digest) ?? this.mismatch(zxid, wanted))
        return
      }
    }
    const mismatch = this.mismatch(zxid, wanted)
    const { doubt } = this
    this.doubt = undefined
    if (mismatch === undefined) {
      this.differingTxns = 0
      return
    }
    this.differingTxns++
    this.report(doubt ?? mismatch)
  }

  /** Whether the digest is this one, and nothing else has to be compared. */
  isClearly(high: number, low: number): boolean {
    const { digest } = this.db.tree
    const isEqual = digest.high === high && digest.low === low
    return isEqual && this.fuzzyUntil === undefined && this.doubt === undefined
  }

  private mismatch(zxid: bigint, expected: bigint): DigestMismatch | undefined {
    const actual = this.db.tree.digest.value
    return actual === expected ? undefined : { zxid, expected, actual }
  }

  private report(mismatch: DigestMismatch | undefined): void {
    if (mismatch === undefined) return
    if (this.onMismatch === undefined) this.unreported ??= mismatch
    else this.onMismatch(mismatch)
  }

  // --- loading ---------------------------------------------------------------------------------

  /** A snapshot contains this digest of the tree after a transaction, and may contain later changes. */
  loaded(zxid: bigint, version: number, digest: bigint): void {
    if (version === digestVersion && zxid > 0n) this.fuzzyUntil = { zxid, digest }
  }

  /** Snapshot and log are loaded. */
  finishLoading(): void {
    this.fuzzyUntil = undefined
    this.report(this.doubt)
    this.doubt = undefined
  }

  /** Another database takes the place of this one. That may undo transactions that were applied. */
  adopt(other: DigestCheck): void {
    this.differingTxns = 0
    this.log.splice(0, Infinity, ...other.log)
    if (other.unreported !== undefined) this.onMismatch?.(other.unreported)
  }
}
