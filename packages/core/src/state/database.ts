import {
  permissions,
  readTxnBody,
  TxnHeader,
  txnDigestBytes,
  type Acl,
  type Reader,
  type Txn,
  CodecMemory,
} from '@zabra/protocol'
import { AclTable, type AclEntry } from './acl/acl-table.ts'
import type { AclRules } from './acl/permission.ts'
import { assert } from '../base/assert.ts'
import { applyTxn } from '../operations/index.ts'
import type { TouchMemory } from '../ports.ts'
import type { SnapshotSource } from './snapshot-source.ts'
import { Quotas, type QuotaExcess } from './tree/quotas.ts'
import { halvesOfZxid } from './tree/stat.ts'
import { noNode, openAclId, Tree, type NodeId } from './tree/tree.ts'
import { Watches } from './watch/watches.ts'

export interface DatabaseOptions {
  readonly extendedTypes: boolean
  readonly digests: boolean
  readonly hashSeed: number
  readonly acl: AclRules
  readonly touchMemory?: TouchMemory | undefined
}

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

const loggedDigestsMax = 1024
/** The database logs its digest once per this many transactions. */
const digestEvery = 128

/**
 * The replicated state: tree, ACLs and sessions, which only `apply` changes. It also has the state
 * of this server that changes with them: watches and quota usage.
 */
export class Database {
  tree: Tree
  acls = new AclTable()
  quotas: Quotas
  readonly watches: Watches
  /** The negotiated timeout of each global session. */
  sessions = new Map<bigint, number>()
  readonly options: DatabaseOptions
  /** What readers and writers of this server remember of their recent work. */
  readonly memory = new CodecMemory()
  /** The zxid of the last transaction that is applied completely. */
  lastZxid = 0n
  /** The upper and lower half of `lastZxid`, for replies that should not create a bigint. */
  lastZxidHigh = 0
  lastZxidLow = 0
  /** Oldest first. */
  readonly digestLog: LoggedDigest[] = []
  /** Called for each change above a soft limit. */
  onQuotaExceeded: ((excess: QuotaExcess) => void) | undefined
  /**
   * Called when the tree differs from the tree of the server that made a transaction or snapshot.
   */
  onDigestMismatch: ((mismatch: DigestMismatch) => void) | undefined
  /** The first mismatch found while loading, before anyone could be notified. */
  untoldMismatch: DigestMismatch | undefined
  /** How many transactions in a row ended with another digest than the leader's. */
  differingTxns = 0
  /** While true, quotas are not counted per transaction; `finishLoading` counts them once. */
  isLoading = false
  /**
   * False while the tree may contain effects of transactions that are not applied yet, because the
   * leader changed the tree while sending it. Its digest means nothing until then.
   */
  isExact = true
  /** The configuration before its last change was applied, if known. */
  configBefore: Uint8Array | undefined
  /**
   * Digests are comparable only after replay has passed everything that a fuzzy snapshot may
   * contain.
   */
  private fuzzyUntil: { zxid: bigint; digest: bigint } | undefined
  /** A mismatch at the end of a fuzzy snapshot, which the next transaction may still resolve. */
  private doubt: DigestMismatch | undefined
  /** The zxid of the last transaction. `lastZxid` may be the start of an epoch, which is none. */
  lastTxnZxid = 0n

  constructor(options: DatabaseOptions) {
    this.options = options
    const { extendedTypes, hashSeed, digests, touchMemory } = options
    const { memory } = this
    const { text: lastText } = memory
    this.tree = new Tree({ extendedTypes, hashSeed, digests, touchMemory, lastText })
    this.quotas = new Quotas(this.tree)
    this.watches = new Watches(options.acl, { hashSeed, memory })
  }

  private listenToQuotas(): void {
    this.quotas.onExceeded = (excess) => this.onQuotaExceeded?.(excess)
  }

  /** Creates the nodes that always exist. */
  createSystemNodes(): void {
    for (const path of ['/zookeeper', '/zookeeper/quota']) {
      if (this.tree.find(path) === noNode) this.createInitial(path, openAclId)
    }
    if (this.tree.find('/zookeeper/config') === noNode) {
      const readable = this.acls.intern([
        { perms: permissions.read, id: { scheme: 'world', id: 'anyone' } },
      ])
      this.acls.acquire(readable.id)
      this.tree.setInitialAversion(this.createInitial('/zookeeper/config', readable.id), -1)
    }
  }

  private createInitial(path: string, aclId: number): NodeId {
    const parent = this.tree.find(path.slice(0, path.lastIndexOf('/')))
    const none = new Uint8Array(0)
    return this.tree.insert(path, parent, { data: none, aclId, owner: 0n, zxid: 0n, time: 0n })
  }

  /**
   * Takes over the content of another database, which must not be used afterwards. This one must
   * have no watches.
   */
  adopt(other: Database): void {
    assert(this.watches.count === 0, 'a database is replaced only while no client is connected')
    this.tree = other.tree
    this.tree.shareText(this.memory.text)
    this.acls = other.acls
    this.quotas = other.quotas
    this.listenToQuotas()
    this.sessions = other.sessions
    this.isExact = other.isExact
    this.differingTxns = 0
    // This may undo transactions that were applied, and with them their digests.
    this.digestLog.splice(0, Infinity, ...other.digestLog)
    this.lastZxid = other.lastZxid
    this.lastZxidHigh = other.lastZxidHigh
    this.lastZxidLow = other.lastZxidLow
    this.lastTxnZxid = other.lastTxnZxid
    this.configBefore = other.configBefore
    if (other.untoldMismatch !== undefined) this.onDigestMismatch?.(other.untoldMismatch)
  }

  /** Sets the configuration that clients read. Each server stores it locally. */
  setConfig(text: Uint8Array, version: bigint, wallMs: number): void {
    const id = this.tree.find(configPath)
    assert(id !== noNode, 'the configuration node exists')
    const before = this.tree.dataLength(id)
    this.tree.setData(id, configPath, text, { zxid: version, time: BigInt(wallMs), version: -1 })
    if (!this.isLoading) this.quotas.dataChanged(configPath, text.length - before)
  }

  /** The configuration that clients read, which may be logged and not committed yet. */
  get configText(): Uint8Array | null {
    const id = this.tree.find(configPath)
    return id === noNode ? null : this.tree.data(id)
  }

  aclOf(id: NodeId): AclEntry {
    return this.acls.get(this.tree.aclId(id))
  }

  /** Applies a transaction: total, deterministic, without I/O. Returns its error code or 0. */
  apply(header: TxnHeader, txn: Txn): number {
    const error = applyTxn(this, header, txn)
    this.advance(header.zxid)
    return error
  }

  /**
   * Called only after a transaction is applied completely, so the name of a snapshot is never ahead
   * of its content.
   */
  advance(zxid: bigint): void {
    if (zxid <= this.lastZxid) return
    this.lastZxid = zxid
    const { high, low } = halvesOfZxid(zxid)
    this.lastZxidHigh = high
    this.lastZxidLow = low
    if (this.lastZxidLow === 0) return
    this.lastTxnZxid = zxid
    if ((this.lastZxidLow & (digestEvery - 1)) === 0) this.logDigest()
  }

  private logDigest(): void {
    if (!this.options.digests || !this.isExact || this.fuzzyUntil !== undefined) return
    this.digestLog.push({ zxid: this.lastZxid, digest: this.tree.digest.value })
    if (this.digestLog.length > loggedDigestsMax) this.digestLog.shift()
  }

  /** Compares the digest of the tree with the digest that the transaction requires. */
  checkDigest(zxid: bigint, expected: bigint): void {
    if (!this.options.digests || !this.isExact) return
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
        else this.tell(this.mismatch(zxid, fuzzyUntil.digest) ?? this.mismatch(zxid, wanted))
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
    this.tell(doubt ?? mismatch)
  }

  private mismatch(zxid: bigint, expected: bigint): DigestMismatch | undefined {
    const actual = this.tree.digest.value
    return actual === expected ? undefined : { zxid, expected, actual }
  }

  private tell(mismatch: DigestMismatch | undefined): void {
    if (mismatch === undefined) return
    if (this.onDigestMismatch === undefined) this.untoldMismatch ??= mismatch
    else this.onDigestMismatch(mismatch)
  }

  // --- loading ---------------------------------------------------------------------------------

  /** One logged transaction: header, body and, usually, the digest of the tree after it. */
  replay(reader: Reader): void {
    reader.memory = this.memory
    const header = TxnHeader.read(reader)
    if (header.type === checkType) {
      // Some releases log a check outside a multi and then cannot read it. It changes nothing.
      this.advance(header.zxid)
      return
    }
    const txn = readTxnBody(reader, header.type)
    this.apply(header, txn)
    if (reader.remaining < txnDigestBytes) return
    const version = reader.int()
    if (version !== 2) return
    const { digest } = this.tree
    const { position } = reader
    const isEqual = reader.int() === digest.high && reader.int() === digest.low
    if (isEqual && this.fuzzyUntil === undefined && this.doubt === undefined) return
    reader.position = position
    this.checkDigest(header.zxid, reader.long())
  }

  session(id: bigint, timeoutMs: number): void {
    this.sessions.set(id, timeoutMs)
  }

  acl(id: bigint, acl: Acl[]): void {
    this.acls.load(Number(id), acl)
  }

  node(reader: Reader): boolean {
    return this.tree.loadNode(reader, (aclId) => this.acls.acquire(aclId))
  }

  digest(zxid: bigint, version: number, digest: bigint): void {
    if (version === 2 && zxid > 0n) this.fuzzyUntil = { zxid, digest }
  }

  /** Computes derived state after snapshot and log are loaded. */
  finishLoading(): void {
    this.isLoading = false
    this.listenToQuotas()
    this.createSystemNodes()
    this.acls.dropUnused()
    this.quotas.rebuild()
    this.fuzzyUntil = undefined
    this.tell(this.doubt)
    this.doubt = undefined
  }

  /** The content for a snapshot. Transactions may be applied while it is written. */
  snapshotSource(): SnapshotSource {
    const cursor = this.tree.cursor()
    const zxid = this.lastZxid
    return {
      zxid,
      sessions: () => this.sessions,
      acls: () => this.acls.entries(),
      writeNodes: (writer, bytesMax) => cursor.writeNodes(writer, bytesMax),
      finish: () => ({
        // A snapshot must not be newer than the logs, and no log contains the start of an epoch.
        zxid: this.lastTxnZxid > zxid ? this.lastTxnZxid : zxid,
        digest: this.options.digests ? this.tree.digest.value : undefined,
      }),
      release: () => cursor.release(),
    }
  }
}

const checkType = 13
export const configPath = '/zookeeper/config'
