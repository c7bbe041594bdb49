/** The tree, or a part of it, as it was after a transaction. */
import {
  codes,
  digestVersion,
  MalformedError,
  readTxnBody,
  storedKind,
  storedTtlMs,
  txnDigestBytes,
  TxnHeader,
  type Acl,
  type Id,
  type NodeKind,
  Reader,
  Stat,
  Writer,
} from '@zabra/protocol'
import { allows, type AclRules } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { noNode, type NodeId } from '../state/tree/tree.ts'
import { LoadingDatabase } from '../storage/recovery/load.ts'
import { ReachWatch } from '../storage/snapshot/snapshot-reach.ts'
import type { SnapshotSink } from '../storage/snapshot/snapshot.ts'
import { partOf, type Selection } from './selection.ts'

export interface PastNode {
  readonly path: string
  /** A view that is valid until the tree changes. */
  readonly data: Uint8Array | null
  readonly acl: readonly Acl[]
  readonly kind: NodeKind
  readonly ttlMs: number | undefined
  /** As clients see it. */
  readonly stat: Stat
}

export class PastTree {
  readonly db: Database
  /** The transaction after which the tree was in this state. */
  zxid: bigint
  /** The time of that transaction; undefined if nothing was replayed. */
  timeMs: number | undefined
  /**
   * Whether the digest matches the one in the log; undefined if the log has none, or if only a part
   * of the tree was read.
   */
  isVerified: boolean | undefined

  /** @internal */
  constructor(db: Database, zxid: bigint) {
    this.db = db
    this.zxid = zxid
  }

  node(path: string): PastNode | undefined {
    const id = this.db.tree.find(path)
    return id === noNode ? undefined : this.nodeOf(id)
  }

  /**
   * Whether these identities had one of these permissions; undefined if the znode did not exist.
   */
  allows(
    path: string,
    perms: number,
    rules: AclRules,
    identities: readonly Id[],
  ): boolean | undefined {
    const id = this.db.tree.find(path)
    return id === noNode ? undefined : allows(rules, this.db.aclOf(id), perms, identities)
  }

  /** The names of the children, in no particular order; undefined if the znode did not exist. */
  childrenOf(path: string): string[] | undefined {
    const { tree } = this.db
    const id = tree.find(path)
    if (id === noNode) return undefined
    return Array.from(tree.children(id), (child) => tree.nameOf(child))
  }

  /** A znode and its descendants, parents first. The tree must not change during the walk. */
  *walk(path = '/'): IterableIterator<PastNode> {
    const { tree } = this.db
    const top = tree.find(path)
    if (top === noNode) return
    const end = tree.successorSkipping(top)
    for (let id = top; id !== end; id = tree.successor(id)) yield this.nodeOf(id)
  }

  /** The number of znodes that `walk` visits. */
  sizeOf(path = '/'): number {
    const { tree } = this.db
    const id = tree.find(path)
    return id === noNode ? 0 : tree.descendantCount(id) + 1
  }

  private nodeOf(id: NodeId): PastNode {
    const { tree } = this.db
    const owner = tree.owner(id)
    const kind = storedKind(owner)
    const writer = new Writer(128)
    tree.writeStat(id, writer)
    return {
      path: tree.pathOf(id),
      data: tree.data(id),
      acl: this.db.aclOf(id).acl,
      kind,
      ttlMs: kind === 'ttl' ? storedTtlMs(owner) : undefined,
      stat: Stat.read(new Reader(writer.written())),
    }
  }
}

/**
 * Loads the selected part of a snapshot, then applies the parts of logged transactions that concern
 * it.
 */
export class PastTreeLoader implements SnapshotSink {
  readonly tree: PastTree
  private readonly selection: Selection
  private readonly loading: LoadingDatabase
  private readonly reach = new ReachWatch()
  private hasMismatch = false
  private wasCompared = false

  constructor(selection: Selection) {
    this.selection = selection
    this.loading = new LoadingDatabase({
      extendedTypes: true,
      digests: selection.isAll,
      hashSeed: 0,
      acl: { skipAcl: true, schemes: new Set() },
    })
    const { db } = this.loading
    this.tree = new PastTree(db, 0n)
    db.digests.onMismatch = () => (this.hasMismatch = true)
  }

  /** The last transaction that the snapshot may contain effects of, known once it is read. */
  get reachedZxid(): bigint {
    return this.reach.zxid
  }

  get isReachCertain(): boolean {
    return this.reach.isCertain
  }

  expect(bytes: number): void {
    if (this.selection.isAll) this.loading.expect(bytes)
  }

  session(id: bigint, timeoutMs: number): void {
    this.reach.session()
    if (this.selection.isAll) this.loading.session(id, timeoutMs)
  }

  acl(id: bigint, acl: Acl[]): void {
    this.loading.acl(id, acl)
  }

  node(reader: Reader): boolean {
    const { position: start } = reader
    const length = reader.int()
    const from = reader.position
    skip(reader, length)
    const isWanted = this.selection.hasBytes(reader.bytes, from, from + length)
    if (isWanted || length <= 1) {
      reader.position = start
      const isNode = this.loading.node(reader)
      if (isNode) this.reach.node(reader, start)
      return isNode
    }
    skip(reader, Math.max(reader.int(), 0))
    skip(reader, aclAndStatBytes)
    this.reach.node(reader, start)
    return true
  }

  digest(zxid: bigint, version: number, digest: bigint): void {
    this.reach.digest(zxid)
    if (this.selection.isAll) this.loading.digest(zxid, version, digest)
  }

  /** The snapshot is read completely. */
  snapshotEnded(zxid: bigint): void {
    this.loading.lastZxid = zxid
    this.tree.zxid = zxid
  }

  /** Applies a logged transaction; the caller passes them in order. */
  apply(reader: Reader): void {
    const { tree, selection } = this
    const { db } = tree
    const { position } = reader
    const header = TxnHeader.read(reader)
    tree.zxid = header.zxid
    tree.timeMs = Number(header.time)
    if (header.type === codes.check) return
    if (selection.isAll) {
      this.wasCompared ||= hasDigest(reader)
      reader.position = position
      this.loading.apply(reader)
      return
    }
    const part = partOf(readTxnBody(reader, header.type), selection)
    if (part !== undefined) db.apply(header, part)
  }

  /** Ends loading: all transactions up to this one are applied. */
  ended(zxid: bigint): PastTree {
    const { tree } = this
    tree.zxid = zxid
    if (!this.selection.isAll) return tree
    if (this.wasCompared) tree.isVerified = !this.hasMismatch
    // No transaction writes the usage of a quota: each server counts by itself.
    tree.db.quotas.rebuild()
    return tree
  }
}

/** The number of an ACL, and a stat as it is stored. */
const aclAndStatBytes = 68

/** Whether the record of a transaction ends with the digest of the tree. */
function hasDigest({ view, end }: Reader): boolean {
  return view.getInt32(end - txnDigestBytes) === digestVersion
}

function skip(reader: Reader, bytes: number): void {
  if (bytes < 0 || bytes > reader.remaining) throw new MalformedError('the record ends too early')
  reader.position += bytes
}
