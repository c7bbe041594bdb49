import {
  codes,
  containerOwner,
  createFlags,
  CreateRequest,
  errorCodes,
  permissions,
  statBytes,
  type Acl,
  type Reader,
  type TxnHeader,
  type Writer,
} from '@zabra/protocol'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import { fixAcl } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { field, ttlMsMax, ttlOwner } from '../state/tree/layout.ts'
import { creationChecksum, stampCreation } from '../state/tree/stat.ts'
import { RequestBytes } from '../state/tree/request-bytes.ts'
import { noNode, type NodeId, type Tree } from '../state/tree/tree.ts'
import { removeWithDescendants } from './deleting.ts'
import {
  hasParent,
  isLegal,
  mayDo,
  type Preparation,
  type Prepared,
  type PreparedTxn,
} from './preparation.ts'

const { createContainer, createTTL } = codes
/** The codes of the operations that create a node. */
export type CreateType =
  | typeof codes.create
  | typeof codes.create2
  | typeof createContainer
  | typeof createTTL
const noTtl = -1n
const createCountMax = 0x7fffffff

/** A decoded request, outside or inside a multi. */
export interface CreateArguments {
  readonly path: string | null
  readonly data: Uint8Array | null
  readonly acl: readonly Acl[] | null
  readonly flags: number
  readonly ttl?: bigint
  readonly bytes?: RequestBytes | undefined
}

/** Decodes the flags. They are an enumeration, not a mask. */
function modeOf(flags: number): { ephemeral: boolean; sequential: boolean; ttl: boolean } {
  return {
    ephemeral: flags === createFlags.ephemeral || flags === createFlags.ephemeralSequential,
    sequential:
      flags === createFlags.persistentSequential ||
      flags === createFlags.ephemeralSequential ||
      flags === createFlags.persistentSequentialTtl,
    ttl: flags === createFlags.persistentTtl || flags === createFlags.persistentSequentialTtl,
  }
}

const flagsBytes = 4

/** Decodes the request of create, create2 and createContainer; the keeper holds all its bytes. */
export function decodeCreate(body: Reader, tree: Tree, keeper: ByteKeeper): CreateArguments {
  const { position } = body
  const { path, data, acl, flags } = CreateRequest.read(body)
  if (path === null) return { path, data, acl, flags, bytes: undefined }
  const bodyEnd = body.position - flagsBytes
  return {
    path,
    data,
    acl,
    flags,
    bytes: RequestBytes.of(tree.scan(path), keeper, position, bodyEnd),
  }
}

export function prepareCreate<Type extends CreateType>(
  type: Type,
  request: CreateArguments,
  p: Preparation,
): CreateTransaction<Type> | number {
  return prepare(type, request, p) as CreateTransaction<Type> | number
}

function prepare(type: CreateType, request: CreateArguments, p: Preparation): Prepared {
  const { projection, zxid } = p
  const { data, flags } = request
  if (flags < 0 || flags > 6) return errorCodes.badArguments
  const mode = modeOf(flags)
  const { ttl = noTtl } = request
  if (mode.ttl && !p.db.options.extendedTypes) return errorCodes.unimplemented
  const isTtlWrong = mode.ttl ? ttl < 1n || ttl > ttlMsMax : ttl !== noTtl && ttl >= 0n
  if (isTtlWrong) return errorCodes.badArguments
  if (mode.ephemeral && p.caller.ephemeralError !== undefined) return p.caller.ephemeralError
  // With a TTL request for a node without TTL, the log would contain something that cannot be
  // replayed.
  if (type === createTTL && !mode.ttl) return errorCodes.badArguments
  if (request.path === null) return errorCodes.marshallingError
  const wanted = request.bytes ?? RequestBytes.ofPath(p.db.tree.scan(request.path), p.keeper)
  if (!hasParent(wanted.path)) return errorCodes.badArguments
  const acl = fixAcl(p.db.options.acl, request.acl, p.caller.identities, p.caller.growth)
  if (typeof acl === 'number') return acl
  const parent = projection.loadParent(wanted.path)
  if (parent === undefined) return errorCodes.noNode
  if (!mayDo(p, parent.acl, permissions.create)) return errorCodes.noAuth
  const { createCount } = parent
  const bytes = mode.sequential ? numbered(wanted, createCount, p) : wanted
  const path = bytes.path.text
  if (!isLegal(bytes.path)) return errorCodes.badArguments
  if (projection.has(bytes.path)) return errorCodes.nodeExists
  if (parent.isOwned && p.db.tree.sessionOf(parent.owner) !== 0n) {
    return errorCodes.noChildrenForEphemerals
  }
  if (p.rules.enforceQuota && p.db.quotas.isExceeded(path, 1, data?.length ?? 0)) {
    return errorCodes.quotaExceeded
  }

  const parentCVersion = Math.min(createCount + 1, createCountMax)
  const isEphemeral = mode.ephemeral && type !== createContainer
  const owner =
    type === createContainer
      ? containerOwner
      : type === createTTL
        ? ttlOwner(ttl)
        : isEphemeral
          ? p.caller.sessionId
          : 0n

  const node = projection.make(bytes, parent, data)
  node.acl = p.db.acls.lookUp(acl)
  stampCreation(node.view, 0, zxid, p.time)
  const { contentChecksum } = node
  if (acl !== request.acl) bytes.dropBody()
  projection.stageParent(parent, parentCVersion, zxid)
  if (owner === 0n) {
    projection.stage(node, creationChecksum(zxid, p.time, contentChecksum))
  } else {
    node.view.setBigInt64(field.owner, owner)
    projection.stage(node)
  }

  switch (type) {
    case createContainer:
      return { type, body: { path, data, acl, parentCVersion }, bytes, contentChecksum }
    case createTTL:
      return { type, body: { path, data, acl, parentCVersion, ttl }, bytes, contentChecksum }
    default: {
      const body = { path, data, acl, ephemeral: isEphemeral, parentCVersion }
      return { type, body, bytes, contentChecksum }
    }
  }
}

function numbered({ path }: RequestBytes, count: number, p: Preparation): RequestBytes {
  return RequestBytes.ofPath(p.db.tree.scan(path.text + sequenceSuffix(count)), p.keeper)
}

/** At least ten digits, as `%010d` prints them. */
function sequenceSuffix(count: number): string {
  return count < 0 ? `-${String(-count).padStart(9, '0')}` : String(count).padStart(10, '0')
}

type CreateTransaction<Type extends CreateType = CreateType> = Extract<PreparedTxn, { type: Type }>

export function applyCreate(db: Database, header: TxnHeader, txn: CreateTransaction): number {
  const { path, data, acl, parentCVersion } = txn.body
  const { contentChecksum, bytes } = txn
  const { tree, acls } = db
  const scanned = bytes?.path ?? tree.scan(path)
  const parent = tree.findParent(scanned)
  if (parent === noNode) return errorCodes.noNode
  const entry = acls.intern(acl ?? [])
  acls.acquire(entry.id)
  const creates = parentCVersion === -1 ? tree.createCount(parent) + 1 : parentCVersion
  const existing = tree.findChild(parent, scanned)
  // Happens only in replay: a fuzzy snapshot contains a later state of the node, or a later node of
  // the same name. What happened after this transaction is replayed as well, so the node starts as
  // new.
  if (existing !== noNode) removeWithDescendants(db, existing, path)
  const { zxid, time } = header
  const owner = ownerOf(header, txn)
  tree.insert(path, parent, { data, aclId: entry.id, owner, zxid, time, contentChecksum }, bytes)
  tree.raiseChildren(parent, path, creates, zxid)
  if (!db.isLoading) db.quotas.created(path, data?.length ?? 0)
  db.watches.created(path, zxid, entry, db.aclOf(parent))
  return errorCodes.ok
}

function ownerOf(header: TxnHeader, txn: CreateTransaction): bigint {
  if (txn.type === createContainer) return containerOwner
  if (txn.type === createTTL) return ttlOwner(txn.body.ttl)
  return txn.body.ephemeral ? header.clientId : 0n
}

const statDataLengthAt = 52

/** The reply of create: the path. */
export function writePath({ body, bytes }: CreateTransaction, out: Writer): void {
  if (bytes === undefined) out.ustring(body.path)
  else bytes.writePath(out)
}

/** The reply of the other operations that create a node: its path and its stat. */
export function writePathAndStat(tree: Tree, txn: CreateTransaction, out: Writer): void {
  writePath(txn, out)
  tree.writeStat(madeBy(txn, tree), out)
  // The reply has the requested length, even if the server stored other data: quota usage.
  out.intAt(out.position - statBytes + statDataLengthAt, txn.body.data?.length ?? 0)
}

/** The node that a transaction created, right after it was applied. */
function madeBy({ body, bytes }: CreateTransaction, tree: Tree): NodeId {
  return bytes === undefined || bytes.node === noNode ? tree.find(body.path) : bytes.node
}
