import {
  containerOwner,
  createFlags,
  errorCodes,
  permissions,
  type Acl,
  type TxnHeader,
} from '@zabra/protocol'
import { fixAcl } from '../state/acl/permission.ts'
import type { Database } from '../state/database.ts'
import { field, ttlMsMax, ttlOwner } from '../state/tree/layout.ts'
import { creationChecksum, stampCreation } from '../state/tree/stat.ts'
import { dataBehind, keepScanned, type ScannedPath } from '../state/tree/scanned-path.ts'
import { noNode } from '../state/tree/tree.ts'
import {
  hasParent,
  isLegal,
  mayDo,
  type Preparation,
  type Prepared,
  type PreparedTxn,
} from './preparation.ts'

/** The numbers of create, create2, createContainer and createTTL. */
export type CreateType = 1 | 15 | 19 | 21
const createContainer = 19
const createTtl = 21
const noTtl = -1n
const createCountMax = 0x7fffffff

export interface CreateArguments {
  readonly path: string | null
  readonly data: Uint8Array | null
  readonly acl: readonly Acl[] | null
  readonly flags: number
  readonly ttl?: bigint
}

/** What the flags ask for. They are an enumeration, not a mask. */
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

/** What is known of a request from when it was read. */
export interface AskedPath {
  readonly scanned: ScannedPath | undefined
  /** As that of a transaction. */
  readonly bodyEnd: number | undefined
}
const nothingKnown: AskedPath = { scanned: undefined, bodyEnd: undefined }

export function prepareCreate(
  type: CreateType,
  request: CreateArguments,
  p: Preparation,
  asked = nothingKnown,
): Prepared {
  const { projection, zxid } = p
  const { data, flags } = request
  if (flags < 0 || flags > 6) return errorCodes.badArguments
  const mode = modeOf(flags)
  const { ttl = noTtl } = request
  if (mode.ttl && !p.db.options.extendedTypes) return errorCodes.unimplemented
  const isTtlWrong = mode.ttl ? ttl < 1n || ttl > ttlMsMax : ttl !== noTtl && ttl >= 0n
  if (isTtlWrong) return errorCodes.badArguments
  if (mode.ephemeral && p.caller.ephemeralError !== undefined) return p.caller.ephemeralError
  // A TTL request for a node without TTL would be logged as something that cannot be replayed.
  if (type === createTtl && !mode.ttl) return errorCodes.badArguments
  if (request.path === null) return errorCodes.marshallingError
  const wanted = asked.scanned ?? keepScanned(p.db.tree.scan(request.path), p.keeper)
  if (!hasParent(wanted)) return errorCodes.badArguments
  const acl = fixAcl(p.db.options.acl, request.acl, p.caller.identities, p.caller.growth)
  if (typeof acl === 'number') return acl
  const parent = projection.loadParent(wanted)
  if (parent === undefined) return errorCodes.noNode
  if (!mayDo(p, parent.acl, permissions.create)) return errorCodes.noAuth
  const { createCount } = parent
  const scanned = mode.sequential ? numbered(wanted, createCount, p) : wanted
  const path = scanned.text
  if (!isLegal(scanned)) return errorCodes.badArguments
  if (projection.has(scanned)) return errorCodes.nodeExists
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
      : type === createTtl
        ? ttlOwner(ttl)
        : isEphemeral
          ? p.caller.sessionId
          : 0n

  const isInPlace = asked.bodyEnd !== undefined && scanned === wanted
  const node = projection.make(scanned, parent, data, isInPlace)
  node.acl = p.db.acls.lookUp(acl)
  stampCreation(node.view, 0, zxid, p.time)
  const { contentChecksum } = node
  projection.stageParent(parent, parentCVersion, zxid)
  if (owner === 0n) {
    projection.stage(node, creationChecksum(zxid, p.time, contentChecksum))
  } else {
    node.view.setBigInt64(field.owner, owner)
    projection.stage(node)
  }

  switch (type) {
    case createContainer:
      return { type, body: { path, data, acl, parentCVersion }, scanned, contentChecksum }
    case createTtl:
      return { type, body: { path, data, acl, parentCVersion, ttl }, scanned, contentChecksum }
    default: {
      const body = { path, data, acl, ephemeral: isEphemeral, parentCVersion }
      const bodyEnd = isInPlace && acl === request.acl ? asked.bodyEnd : undefined
      return { type, body, scanned, contentChecksum, bodyEnd }
    }
  }
}

function numbered({ text }: ScannedPath, count: number, p: Preparation): ScannedPath {
  return keepScanned(p.db.tree.scan(text + sequenceSuffix(count)), p.keeper)
}

/** Ten digits, as `%010d` prints them. */
function sequenceSuffix(count: number): string {
  return count < 0 ? `-${String(-count).padStart(9, '0')}` : String(count).padStart(10, '0')
}

type CreateTransaction = Extract<PreparedTxn, { type: CreateType }>

export function applyCreate(db: Database, header: TxnHeader, txn: CreateTransaction): number {
  const { path, data, acl, parentCVersion } = txn.body
  const { contentChecksum, bodyEnd } = txn
  const { tree, acls } = db
  const scanned = txn.scanned ?? tree.scan(path)
  const parent = tree.findParent(scanned)
  if (parent === noNode) return errorCodes.noNode
  const entry = acls.intern(acl ?? [])
  acls.acquire(entry.id)
  const creates = parentCVersion === -1 ? tree.createCount(parent) + 1 : parentCVersion
  const existing = tree.findChild(parent, scanned)
  if (existing !== noNode) {
    // Replay of what a fuzzy snapshot has already: only what the snapshot may lack is mended.
    acls.release(tree.aclId(existing))
    tree.setAclId(existing, entry.id)
    tree.raiseChildren(parent, path, creates, header.zxid)
    return errorCodes.nodeExists
  }
  const { zxid, time } = header
  const owner = ownerOf(header, txn)
  const dataAt = bodyEnd === undefined ? undefined : dataBehind(scanned)
  const made = { data, aclId: entry.id, owner, zxid, time, contentChecksum, dataAt }
  tree.insert(path, parent, made, scanned)
  tree.raiseChildren(parent, path, creates, zxid)
  if (!db.isLoading) db.quotas.created(path, data?.length ?? 0)
  db.watches.created(path, zxid, entry, db.aclOf(parent))
  return errorCodes.ok
}

function ownerOf(header: TxnHeader, txn: CreateTransaction): bigint {
  if (txn.type === createContainer) return containerOwner
  if (txn.type === createTtl) return ttlOwner(txn.body.ttl)
  return txn.body.ephemeral ? header.clientId : 0n
}
