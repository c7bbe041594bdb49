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
  type Reader,
  type Txn,
} from '@zabra/protocol'
import { prepareCreate } from '../operations/create.ts'
import { prepareDelete } from '../operations/delete.ts'
import { byFlags, hasUnknownFlags, lacksTtl, needsAcl, prepareMulti } from '../operations/multi.ts'
import type { Preparation, Prepared } from '../operations/preparation.ts'
import { prepareReconfig } from '../operations/reconfig.ts'
import { prepareSetAcl } from '../operations/set-acl.ts'
import { prepareSetData } from '../operations/set-data.ts'
import type { ByteKeeper } from './byte-keeper.ts'
import { op } from './opcodes.ts'

const { marshallingError } = errorCodes
const unreadable: Txn = { type: op.error, body: { err: marshallingError } }

/**
 * What comes of the write whose body the reader stands at: the transaction that does it, or the
 * one that records its refusal. A MalformedError says that it is not even that: bytes that cannot
 * be decoded use up no zxid, except in a multi.
 */
export function decide(type: number, body: Reader, p: Preparation, keeper: ByteKeeper): Txn {
  // A request's data is moved out of the received chunk, which is about to be used again.
  body.keeper = keeper
  let prepared: Prepared
  try {
    if (type === op.multi) return decideMulti(body, p)
    prepared = decideSimple(type, body, p)
  } catch (error) {
    if (error instanceof NullError) return unreadable
    throw error
  } finally {
    body.keeper = undefined
  }
  return typeof prepared === 'number' ? { type: op.error, body: { err: prepared } } : prepared
}

function decideMulti(body: Reader, p: Preparation): Txn {
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
  return { type: op.multi, body: prepareMulti(ops.map(byFlags), p) }
}

function decideSimple(type: number, body: Reader, p: Preparation): Prepared {
  switch (type) {
    case op.create:
    case op.create2:
    case op.createContainer:
      return prepareCreate(type, CreateRequest.read(body), p)
    case op.createTtl:
      return prepareCreate(type, CreateTtlRequest.read(body), p)
    case op.delete:
      return prepareDelete(DeleteRequest.read(body), p)
    case op.setData:
      return prepareSetData(SetDataRequest.read(body), p)
    case op.setAcl:
      return prepareSetAcl(SetAclRequest.read(body), p)
    case op.reconfig:
      return prepareReconfig(ReconfigRequest.read(body), p)
    case op.deleteContainer:
      // Only the server itself removes containers; in Apache anybody can, without permission.
      return errorCodes.badArguments
    default:
      throw new MalformedError(`operation ${type} is no write`)
  }
}
