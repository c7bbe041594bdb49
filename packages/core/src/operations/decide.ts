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
import { prepareCreate, type AskedPath } from './create.ts'
import { prepareDelete } from './delete.ts'
import { byFlags, hasUnknownFlags, lacksTtl, needsAcl, prepareMulti } from './multi.ts'
import type { Preparation, Prepared } from './preparation.ts'
import { prepareReconfig } from './reconfig.ts'
import { prepareSetAcl } from './set-acl.ts'
import { prepareSetData } from './set-data.ts'
import { keepScanned, scannedAt } from '../state/tree/scanned-path.ts'
import type { Tree } from '../state/tree/tree.ts'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import { op } from './opcodes.ts'

/** A write that was read and is yet to be decided about. */
export type DecodedWrite =
  | ({ readonly type: 1 | 15 | 19; readonly request: TypeOf<typeof CreateRequest> } & AskedPath)
  | ({ readonly type: 21; readonly request: TypeOf<typeof CreateTtlRequest> } & AskedPath)
  | { readonly type: 2; readonly request: TypeOf<typeof DeleteRequest> }
  | { readonly type: 5; readonly request: TypeOf<typeof SetDataRequest> }
  | { readonly type: 7; readonly request: TypeOf<typeof SetAclRequest> }
  | { readonly type: 16; readonly request: TypeOf<typeof ReconfigRequest> }
  | { readonly type: 14; readonly request: readonly MultiWriteOp[] }
  /** Refused whatever there is. */
  | { readonly type: -1; readonly request: number }

const flagsBytes = 4
const unreadable: DecodedWrite = { type: op.error, request: errorCodes.marshallingError }

/**
 * The write whose body the reader stands at. A MalformedError says that it is not even that: bytes
 * that cannot be decoded use up no zxid, except in a multi.
 */
export function readWrite(
  type: number,
  body: Reader,
  tree: Tree,
  keeper: ByteKeeper,
): DecodedWrite {
  // A request is moved out of the received chunk, which is about to be used again.
  const kept = keeper.keepRest(body)
  try {
    return type === op.multi ? readMulti(kept) : readSimple(type, kept, tree, keeper)
  } catch (error) {
    if (error instanceof NullError) return unreadable
    throw error
  }
}

function readMulti(body: Reader): DecodedWrite {
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

function readSimple(type: number, body: Reader, tree: Tree, keeper: ByteKeeper): DecodedWrite {
  switch (type) {
    case op.create:
    case op.create2:
    case op.createContainer: {
      const { position } = body
      const request = CreateRequest.read(body)
      const { path } = request
      const end = body.position - flagsBytes
      if (path === null) return { type, request, scanned: undefined, bodyEnd: undefined }
      const scanned = tree.scan(path)
      // What is plain is in the request as it would be written; other text may be no UTF-8 there.
      return scanned.isPlain
        ? { type, request, scanned: scannedAt(scanned, keeper, position + 4), bodyEnd: end }
        : { type, request, scanned: keepScanned(scanned, keeper), bodyEnd: undefined }
    }
    case op.createTtl:
      return {
        type,
        request: CreateTtlRequest.read(body),
        scanned: undefined,
        bodyEnd: undefined,
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

/** What comes of a write: the transaction that does it, or the one that records its refusal. */
export function decide(write: DecodedWrite, p: Preparation): Txn {
  if (write.type === op.multi) return { type: op.multi, body: prepareMulti(write.request, p) }
  const prepared = decideSimple(write, p)
  return typeof prepared === 'number' ? { type: op.error, body: { err: prepared } } : prepared
}

function decideSimple(write: Exclude<DecodedWrite, { type: 14 }>, p: Preparation): Prepared {
  switch (write.type) {
    case op.create:
    case op.create2:
    case op.createContainer:
    case op.createTtl:
      return prepareCreate(write.type, write.request, p, write)
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
