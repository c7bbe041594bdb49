import {
  CreateRequest,
  CreateTtlRequest,
  DeleteRequest,
  errorCodes,
  isMultiWrite,
  MalformedError,
  MultiRequest,
  NullError,
  ReconfigRequest,
  SetAclRequest,
  SetDataRequest,
  type MultiOp,
  type MultiWriteOp,
  type Reader,
  type Txn,
  type TypeOf,
} from '@zabra/protocol'
import { prepareCreate } from '../operations/create.ts'
import { prepareDelete } from '../operations/delete.ts'
import { byFlags, hasUnknownFlags, lacksTtl, needsAcl, prepareMulti } from '../operations/multi.ts'
import type { Preparation, Prepared } from '../operations/preparation.ts'
import { prepareReconfig } from '../operations/reconfig.ts'
import { prepareSetAcl } from '../operations/set-acl.ts'
import { prepareSetData } from '../operations/set-data.ts'
import { keepScanned, type ScannedPath } from '../tree/scanned-path.ts'
import type { Tree } from '../tree/tree.ts'
import type { ByteKeeper } from './byte-keeper.ts'
import { op } from './opcodes.ts'

/** A write that was read and is yet to be decided about. */
export type ReadWrite =
  | {
      readonly type: 1 | 15 | 19
      readonly request: TypeOf<typeof CreateRequest>
      readonly scanned: ScannedPath | undefined
    }
  | {
      readonly type: 21
      readonly request: TypeOf<typeof CreateTtlRequest>
      readonly scanned: ScannedPath | undefined
    }
  | { readonly type: 2; readonly request: TypeOf<typeof DeleteRequest> }
  | { readonly type: 5; readonly request: TypeOf<typeof SetDataRequest> }
  | { readonly type: 7; readonly request: TypeOf<typeof SetAclRequest> }
  | { readonly type: 16; readonly request: TypeOf<typeof ReconfigRequest> }
  | { readonly type: 14; readonly request: readonly MultiWriteOp[] }
  /** Refused whatever there is. */
  | { readonly type: -1; readonly request: number }

const unreadable: ReadWrite = { type: op.error, request: errorCodes.marshallingError }

/**
 * The write whose body the reader stands at. A MalformedError says that it is not even that: bytes
 * that cannot be decoded use up no zxid, except in a multi.
 */
export function readWrite(type: number, body: Reader, tree: Tree, keeper: ByteKeeper): ReadWrite {
  // A request's data is moved out of the received chunk, which is about to be used again.
  body.keeper = keeper
  try {
    return type === op.multi ? readMulti(body) : readSimple(type, body, tree, keeper)
  } catch (error) {
    if (error instanceof NullError) return unreadable
    throw error
  } finally {
    body.keeper = undefined
  }
}

function readMulti(body: Reader): ReadWrite {
  let ops: MultiOp[]
  try {
    ops = MultiRequest.read(body)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return unreadable
  }
  if (!ops.every(isMultiWrite)) return unreadable
  for (const part of ops) {
    // In this order, as Apache takes a part apart: it decides whether a zxid is used up.
    if (hasUnknownFlags(part)) return unreadable
    if (needsAcl(part) && part.request.acl === null) throw new MalformedError('no ACL in a multi')
    if (lacksTtl(part)) return unreadable
  }
  if (ops.some(({ request }) => request.path === null)) return unreadable
  return { type: op.multi, request: ops.map(byFlags) }
}

function readSimple(type: number, body: Reader, tree: Tree, keeper: ByteKeeper): ReadWrite {
  switch (type) {
    case op.create:
    case op.create2:
    case op.createContainer: {
      const request = CreateRequest.read(body)
      return { type, request, scanned: scanToKeep(request.path, tree, keeper) }
    }
    case op.createTtl: {
      const request = CreateTtlRequest.read(body)
      return { type, request, scanned: scanToKeep(request.path, tree, keeper) }
    }
    case op.delete:
      return { type, request: DeleteRequest.read(body) }
    case op.setData:
      return { type, request: SetDataRequest.read(body) }
    case op.setAcl:
      return { type, request: SetAclRequest.read(body) }
    case op.reconfig:
      return { type, request: ReconfigRequest.read(body) }
    case op.deleteContainer:
      // Only the server itself removes containers; in Apache anybody can, without permission.
      return { type: op.error, request: errorCodes.badArguments }
    default:
      throw new MalformedError(`operation ${type} is no write`)
  }
}

/** While its bytes are at hand. */
function scanToKeep(path: string | null, tree: Tree, keeper: ByteKeeper): ScannedPath | undefined {
  return path === null ? undefined : keepScanned(tree.scan(path), keeper)
}

/** What comes of a write: the transaction that does it, or the one that records its refusal. */
export function decide(write: ReadWrite, p: Preparation): Txn {
  if (write.type === op.multi) return { type: op.multi, body: prepareMulti(write.request, p) }
  const prepared = decideSimple(write, p)
  return typeof prepared === 'number' ? { type: op.error, body: { err: prepared } } : prepared
}

function decideSimple(write: Exclude<ReadWrite, { type: 14 }>, p: Preparation): Prepared {
  switch (write.type) {
    case op.create:
    case op.create2:
    case op.createContainer:
    case op.createTtl:
      return prepareCreate(write.type, write.request, p, write.scanned)
    case op.delete:
      return prepareDelete(write.request, p)
    case op.setData:
      return prepareSetData(write.request, p)
    case op.setAcl:
      return prepareSetAcl(write.request, p)
    case op.reconfig:
      return prepareReconfig(write.request, p)
    case op.error:
      return write.request
  }
}
