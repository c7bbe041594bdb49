/**
 * The operations, one file each, keyed by the names in the protocol's table. The compiler reports a
 * name that has no operation here. This is the only place that dispatches on operation codes.
 */
import {
  codes,
  errorCodes,
  MalformedError,
  NullError,
  operations,
  type Reader,
  type ReadName,
  type Txn,
  type TxnHeader,
  type WriteName,
  type Writer,
} from '@zabra/protocol'
import type { ByteKeeper } from '../base/byte-keeper.ts'
import type { Database } from '../state/database.ts'
import type { Tree } from '../state/tree/tree.ts'
import { addWatch } from './add-watch.ts'
import { checkWatches } from './check-watches.ts'
import { check } from './check.ts'
import { closeSession } from './close-session.ts'
import { createContainer } from './create-container.ts'
import { createSession } from './create-session.ts'
import { createTtl } from './create-ttl.ts'
import { create } from './create.ts'
import { create2 } from './create2.ts'
import { deleteContainer } from './delete-container.ts'
import { deleteNode } from './delete.ts'
import { error } from './error.ts'
import { exists } from './exists.ts'
import { getAcl } from './get-acl.ts'
import { getAllChildrenNumber } from './get-all-children-number.ts'
import { getChildren } from './get-children.ts'
import { getChildren2 } from './get-children2.ts'
import { getData } from './get-data.ts'
import { getEphemerals } from './get-ephemerals.ts'
import { multiRead } from './multi-read.ts'
import { multiOf } from './multi.ts'
import type { ReadOperation, WriteOperation } from './operation.ts'
import { ping } from './ping.ts'
import type { Preparation, Prepared } from './preparation.ts'
import { reconfig } from './reconfig.ts'
import { removeWatches } from './remove-watches.ts'
import { setAcl } from './set-acl.ts'
import { setData } from './set-data.ts'
import { setWatches } from './set-watches.ts'
import { setWatches2 } from './set-watches2.ts'
import { sync } from './sync.ts'
import { whoAmI } from './who-am-i.ts'

type Write<Name extends WriteName> = WriteOperation<Name, any> // oxlint-disable-line typescript/no-explicit-any -- each has requests of its own

/** A write with its types erased, because its code is known only at run time. */
interface AnyWrite {
  decode?(body: Reader, tree: Tree, keeper: ByteKeeper): unknown
  prepare(request: unknown, preparation: Preparation): Txn | number
  apply(db: Database, header: TxnHeader, txn: Txn): number
  result?(tree: Tree, txn: Txn, out: Writer): void
}

/** Several writes in one. Each part is dispatched like a separate write. */
export const multi = multiOf({
  prepare: ({ type, request }, p) => writesByCode[type]!.prepare(request, p) as Prepared,
  apply: (db, header, txn) => applyTxn(db, header, txn),
  writeResult: (tree, txn, out) => writeResult(tree, txn, out),
})

const writeOperations: { readonly [Name in WriteName]: Write<Name> } = {
  create,
  delete: deleteNode,
  setData,
  setACL: setAcl,
  check,
  multi,
  create2,
  reconfig,
  createContainer,
  deleteContainer,
  createTTL: createTtl,
  createSession,
  closeSession,
  error,
}

const readOperations: { readonly [Name in ReadName]: ReadOperation } = {
  exists,
  getData,
  getACL: getAcl,
  getChildren,
  sync,
  ping,
  getChildren2,
  checkWatches,
  removeWatches,
  multiRead,
  setWatches,
  getEphemerals,
  getAllChildrenNumber,
  setWatches2,
  addWatch,
  whoAmI,
}

/** Indexed by the low byte of the code; codes are small, and some are negative. */
const writesByCode = byCode<AnyWrite>(writeOperations)
const readsByCode = byCode<ReadOperation>(readOperations)

function byCode<Kind>(table: Readonly<Record<string, Kind>>): (Kind | undefined)[] {
  const dispatch: (Kind | undefined)[] = Array.from({ length: 256 })
  for (const [name, operation] of Object.entries(table)) {
    dispatch[operations[name as keyof typeof operations].code & 0xff] = operation
  }
  return dispatch
}

/** Codes that clients send are smaller; above are the low bytes of the server's own codes. */
const clientCodesEnd = 128

/** The read operation with this code. */
export function readOperation(code: number): ReadOperation | undefined {
  return code >= 0 && code < clientCodesEnd ? readsByCode[code] : undefined
}

/** Whether clients may send the write with this code. */
export function isClientWrite(code: number): boolean {
  return code >= 0 && code < clientCodesEnd && writesByCode[code]?.decode !== undefined
}

/**
 * Decodes the request at the reader's position; a number is the error that refuses it. Throws a
 * MalformedError if the bytes are no request at all; such a request takes no zxid.
 */
export function decodeWrite(code: number, body: Reader, tree: Tree, keeper: ByteKeeper): unknown {
  const operation = writesByCode[code & 0xff]
  if (!isClientWrite(code) || operation === undefined) {
    throw new MalformedError(`operation ${code} is not a write`)
  }
  // Copies the request out of the received chunk, which is about to be reused.
  const kept = keeper.keepRest(body)
  try {
    return operation.decode!(kept, tree, keeper)
  } catch (fault) {
    if (fault instanceof NullError) return errorCodes.marshallingError
    throw fault
  }
}

/** Turns a decoded request into its transaction, or into one that records its refusal. */
export function prepareWrite(code: number, request: unknown, preparation: Preparation): Txn {
  const prepared =
    typeof request === 'number' ? request : writesByCode[code & 0xff]!.prepare(request, preparation)
  return typeof prepared === 'number' ? refusal(prepared) : prepared
}

/** The transaction that records a refusal. */
export function refusal(err: number): Txn {
  return { type: codes.error, body: { err } }
}

/** Applies a transaction, or a part of a multi. */
export function applyTxn(db: Database, header: TxnHeader, txn: Txn): number {
  return writesByCode[txn.type & 0xff]!.apply(db, header, txn)
}

/** Writes the reply body for a transaction that was just applied. */
export function writeResult(tree: Tree, txn: Txn, out: Writer): void {
  writesByCode[txn.type & 0xff]!.result?.(tree, txn, out)
}
