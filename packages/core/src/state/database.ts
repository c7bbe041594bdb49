import {
  permissions,
  readTxnBody,
  TxnHeader,
  txnDigestBytes,
  type Acl,
  type Reader,
  type Txn,
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

/** The digest that a transaction or a snapshot says the tree must have. */
export interface DigestMismatch {
  readonly zxid: bigint
  readonly expected: bigint
  readonly actual: bigint
}

/** The digest of the tree after a transaction: what servers that differ are found by. */
export interface LoggedDigest {
  readonly zxid: bigint
  readonly digest: bigint
}

const loggedDigestsMax = 1024
/** Every so many transactions the digest is remembered. */
const digestEvery = 128

/**
 * What every replica holds equally: tree, ACLs and sessions, changed only by `apply`; and what
 * belongs to this server alone but changes with them: watches and quota usage.
 */
export class Database {
  tree: Tree
  acls = new AclTable()
  quotas: Quotas
  readonly watches: Watches
  /** Global sessions and the timeout negotiated at their creation. */
  sessions = new Map<bigint, number>()
  readonly options: DatabaseOptions
  /** The last transaction applied, with all its effects. */
  lastZxid = 0n
  /** Its halves, for replies that should not make a bigint. */
  lastZxidHigh = 0
  lastZxidLow = 0
  /** Oldest first. */
  readonly digestLog: LoggedDigest[] = []
  /** Called for each change above a soft limit. */
  onQuotaExceeded: ((excess: QuotaExcess) => void) | undefined
  /** Called when the tree is not what the one who made a transaction or snapshot had. */
  onDigestMismatch: ((mismatch: DigestMismatch) => void) | undefined
  /** The first one that nobody was told of, because the database was still being loaded. */
  untoldMismatch: DigestMismatch | undefined
  /** Quotas are counted once everything is loaded, not for each replayed transaction. */
  isLoading = false
  /**
   * False while the tree may contain parts of what is yet to be applied, because its leader sent
   * it while it changed: until then its digest is like nobody's.
   */
  isExact = true
  /** What the configuration was before the last change of it was applied, as far as that is known. */
  configBefore: Uint8Array | undefined
  /** Digests are comparable only once replay has passed what a fuzzy snapshot may contain. */
  private fuzzyUntil: { zxid: bigint; digest: bigint } | undefined
  /** A mismatch where a fuzzy snapshot ends, which the next transaction may yet explain. */
  private doubt: DigestMismatch | undefined
  /** The last transaction: the start of an epoch, which `lastZxid` may be, is none. */
  lastTxnZxid = 0n

  constructor(options: DatabaseOptions) {
    this.options = options
    const { extendedTypes, hashSeed, digests, touchMemory } = options
    this.tree = new Tree({ extendedTypes, hashSeed, digests, touchMemory })
    this.quotas = new Quotas(this.tree)
    this.watches = new Watches(options.acl, hashSeed)
  }

  private listenToQuotas(): void {
    this.quotas.onExceeded = (excess) => this.onQuotaExceeded?.(excess)
  }

  /** The nodes that are always there. */
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

  /** Becomes what another one is, which is not used any more. Nobody may be watching. */
  adopt(other: Database): void {
    assert(this.watches.count === 0, 'a database is replaced only while no client is connected')
    this.tree = other.tree
    this.acls = other.acls
    this.quotas = other.quotas
    this.listenToQuotas()
    this.sessions = other.sessions
    this.isExact = other.isExact
    // What was applied before may be undone by this: then there never was such a digest.
    this.digestLog.splice(0, Infinity, ...other.digestLog)
    this.lastZxid = other.lastZxid
    this.lastZxidHigh = other.lastZxidHigh
    this.lastZxidLow = other.lastZxidLow
    this.lastTxnZxid = other.lastTxnZxid
    this.configBefore = other.configBefore
    if (other.untoldMismatch !== undefined) this.onDigestMismatch?.(other.untoldMismatch)
  }

  /** The ensemble's configuration, as clients read it; each server keeps it for itself. */
  setConfig(text: Uint8Array, version: bigint, wallMs: number): void {
    const id = this.tree.find(configPath)
    assert(id !== noNode, 'the configuration has its node')
    const before = this.tree.dataLength(id)
    this.tree.setData(id, configPath, text, { zxid: version, time: BigInt(wallMs), version: -1 })
    if (!this.isLoading) this.quotas.dataChanged(configPath, text.length - before)
  }

  /** What clients read of it: also what the log holds and nobody has committed yet. */
  get configText(): Uint8Array | null {
    const id = this.tree.find(configPath)
    return id === noNode ? null : this.tree.data(id)
  }

  aclOf(id: NodeId): AclEntry {
    return this.acls.get(this.tree.aclId(id))
  }

  /** Applies a transaction: total, deterministic, without I/O. Answers with its error or 0. */
  apply(header: TxnHeader, txn: Txn): number {
    const error = applyTxn(this, header, txn)
    this.advance(header.zxid)
    return error
  }

  /** Only after a transaction is applied whole: a snapshot's name is never ahead of its content. */
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

  /** Compares the tree with what a transaction says it must be after it. */
  checkDigest(zxid: bigint, expected: bigint): void {
    if (!this.options.digests || !this.isExact) return
    const wanted = BigInt.asUintN(64, expected)
    const { fuzzyUntil } = this
    if (fuzzyUntil !== undefined) {
      if (zxid < fuzzyUntil.zxid) return
      this.fuzzyUntil = undefined
      if (zxid === fuzzyUntil.zxid) {
        // Apache ZooKeeper notes the digest while another thread may have half applied the next
        // transaction, of which the nodes then already tell: only once that is replayed as well
        // do they have to agree.
        if (fuzzyUntil.digest === wanted) this.doubt = this.mismatch(zxid, wanted)
        else this.tell(this.mismatch(zxid, fuzzyUntil.digest) ?? this.mismatch(zxid, wanted))
        return
      }
    }
    const mismatch = this.mismatch(zxid, wanted)
    if (mismatch !== undefined) this.tell(this.doubt ?? mismatch)
    this.doubt = undefined
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
    const header = TxnHeader.read(reader)
    if (header.type === checkType) {
      // A check outside a multi, which some releases log and then cannot read: it changes nothing.
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

  /** After snapshot and log: what is derived from them. */
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

  /** What a snapshot is written from while transactions go on being applied. */
  snapshotSource(): SnapshotSource {
    const cursor = this.tree.cursor()
    const zxid = this.lastZxid
    return {
      zxid,
      sessions: () => this.sessions,
      acls: () => this.acls.entries(),
      writeNodes: (writer, bytesMax) => cursor.writeNodes(writer, bytesMax),
      finish: () => ({
        // The logs must reach as far, and no log ever holds the start of an epoch.
        zxid: this.lastTxnZxid > zxid ? this.lastTxnZxid : zxid,
        digest: this.options.digests ? this.tree.digest.value : undefined,
      }),
      release: () => cursor.release(),
    }
  }
}

const checkType = 13
export const configPath = '/zookeeper/config'
