import {
  codes,
  digestVersion,
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
import { DigestCheck } from './digest-check.ts'
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
  /** The memory of the readers and writers of this server. */
  readonly memory = new CodecMemory()
  /** The zxid of the last transaction that is applied completely. */
  lastZxid = 0n
  /** The upper and lower half of `lastZxid`, for replies that should not create a bigint. */
  lastZxidHigh = 0
  lastZxidLow = 0
  readonly digests = new DigestCheck(this)
  /** Called for each change above a soft limit. */
  onQuotaExceeded: ((excess: QuotaExcess) => void) | undefined
  /** While true, quotas are not counted per transaction; `finishLoading` counts them once. */
  isLoading = false
  /**
   * False while the tree may contain effects of transactions that are not applied yet, because the
   * leader changed the tree while sending it. Its digest means nothing until then.
   */
  isExact = true
  /** The configuration before its last change was applied, if known. */
  configBefore: Uint8Array | undefined
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
    this.lastZxid = other.lastZxid
    this.lastZxidHigh = other.lastZxidHigh
    this.lastZxidLow = other.lastZxidLow
    this.lastTxnZxid = other.lastTxnZxid
    this.configBefore = other.configBefore
    this.digests.adopt(other.digests)
  }

  /** Sets the configuration that clients read. Each server stores it locally. */
  setConfig(text: Uint8Array, version: bigint, wallMs: number): void {
    const id = this.tree.find(configPath)
    assert(id !== noNode, 'the configuration node exists')
    const time = BigInt(wallMs)
    const grown = this.tree.setData(id, configPath, text, { zxid: version, time, version: -1 })
    if (!this.isLoading) this.quotas.dataChanged(configPath, grown)
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
    if ((this.lastZxidLow & (digestEvery - 1)) === 0) this.digests.record(zxid)
  }

  // --- loading -----------------------------------------------------------------------------------

  /** One logged transaction: header, body and, usually, the digest of the tree after it. */
  replay(reader: Reader): void {
    reader.memory = this.memory
    const header = TxnHeader.read(reader)
    if (header.type === codes.check) {
      // Some releases log a check outside a multi and then cannot read it. It changes nothing.
      this.advance(header.zxid)
      return
    }
    const txn = readTxnBody(reader, header.type)
    this.apply(header, txn)
    if (reader.remaining < txnDigestBytes) return
    const version = reader.int()
    if (version !== digestVersion) return
    const { position } = reader
    if (this.digests.isClearly(reader.int(), reader.int())) return
    reader.position = position
    this.digests.check(header.zxid, reader.long())
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
    this.digests.loaded(zxid, version, digest)
  }

  /** Computes derived state after snapshot and log are loaded. */
  finishLoading(): void {
    this.isLoading = false
    this.listenToQuotas()
    this.createSystemNodes()
    this.acls.dropUnused()
    this.quotas.rebuild()
    this.digests.finishLoading()
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

export const configPath = '/zookeeper/config'
