/**
 * The table of operations: number, request and response of each. What the server dispatches on,
 * what clients may call and how operations are named in logs and metrics all follow from here.
 */
import type { Codec, TypeOf } from './jute.ts'
import * as client from './records/client.ts'
import { MultiRequest, MultiResponse } from './records/multi.ts'
import * as txn from './records/transaction.ts'

export interface Operation {
  readonly code: number
  readonly request: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
  readonly response: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
}

export interface Write extends Operation {
  readonly txn: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
}

/** Operations that become a transaction, are logged and replicated. */
export const writes = {
  create: {
    code: 1,
    request: client.CreateRequest,
    txn: txn.CreateTxn,
    response: client.CreateResponse,
  },
  delete: { code: 2, request: client.DeleteRequest, txn: txn.DeleteTxn, response: client.Empty },
  setData: {
    code: 5,
    request: client.SetDataRequest,
    txn: txn.SetDataTxn,
    response: client.StatResponse,
  },
  setACL: {
    code: 7,
    request: client.SetAclRequest,
    txn: txn.SetAclTxn,
    response: client.StatResponse,
  },
  check: {
    code: 13,
    request: client.CheckVersionRequest,
    txn: txn.CheckVersionTxn,
    response: client.Empty,
  },
  multi: { code: 14, request: MultiRequest, txn: txn.MultiTxn, response: MultiResponse },
  create2: {
    code: 15,
    request: client.CreateRequest,
    txn: txn.CreateTxn,
    response: client.Create2Response,
  },
  reconfig: {
    code: 16,
    request: client.ReconfigRequest,
    txn: txn.SetDataTxn,
    response: client.GetDataResponse,
  },
  createContainer: {
    code: 19,
    request: client.CreateRequest,
    txn: txn.CreateContainerTxn,
    response: client.Create2Response,
  },
  deleteContainer: {
    code: 20,
    request: client.PathRequest,
    txn: txn.DeleteTxn,
    response: client.Empty,
  },
  createTTL: {
    code: 21,
    request: client.CreateTtlRequest,
    txn: txn.CreateTtlTxn,
    response: client.Create2Response,
  },
  createSession: {
    code: -10,
    request: client.Empty,
    txn: txn.CreateSessionTxn,
    response: client.ConnectResponse,
  },
  closeSession: {
    code: -11,
    request: client.Empty,
    txn: txn.CloseSessionTxn,
    response: client.Empty,
  },
  error: { code: -1, request: client.Empty, txn: txn.ErrorTxn, response: client.ErrorResponse },
} as const satisfies Record<string, Write>

/** Operations a server answers from its own state. */
export const reads = {
  exists: { code: 3, request: client.WatchableRequest, response: client.StatResponse },
  getData: { code: 4, request: client.WatchableRequest, response: client.GetDataResponse },
  getACL: { code: 6, request: client.PathRequest, response: client.GetAclResponse },
  getChildren: { code: 8, request: client.WatchableRequest, response: client.GetChildrenResponse },
  sync: { code: 9, request: client.SyncRequest, response: client.SyncResponse },
  ping: { code: 11, request: client.Empty, response: client.Empty },
  getChildren2: {
    code: 12,
    request: client.WatchableRequest,
    response: client.GetChildren2Response,
  },
  checkWatches: { code: 17, request: client.WatchTypeRequest, response: client.Empty },
  removeWatches: { code: 18, request: client.WatchTypeRequest, response: client.Empty },
  multiRead: { code: 22, request: MultiRequest, response: MultiResponse },
  setWatches: { code: 101, request: client.SetWatches, response: client.Empty },
  getEphemerals: {
    code: 103,
    request: client.GetEphemeralsRequest,
    response: client.GetEphemeralsResponse,
  },
  getAllChildrenNumber: {
    code: 104,
    request: client.PathRequest,
    response: client.GetAllChildrenNumberResponse,
  },
  setWatches2: { code: 105, request: client.SetWatches2, response: client.Empty },
  addWatch: { code: 106, request: client.AddWatchRequest, response: client.ErrorResponse },
  whoAmI: { code: 107, request: client.Empty, response: client.WhoAmIResponse },
} as const satisfies Record<string, Operation>

/** Operations that concern the connection and are answered the moment they are read. */
export const inline = {
  auth: { code: 100, request: client.AuthPacket, response: client.Empty },
  sasl: { code: 102, request: client.SaslToken, response: client.SaslToken },
} as const satisfies Record<string, Operation>

export const operations = { ...writes, ...reads, ...inline } as const

export type WriteName = keyof typeof writes
export type ReadName = keyof typeof reads
export type OperationName = keyof typeof operations
export type RequestOf<Name extends OperationName> = TypeOf<(typeof operations)[Name]['request']>
export type ResponseOf<Name extends OperationName> = TypeOf<(typeof operations)[Name]['response']>
export type TxnOf<Name extends WriteName> = TypeOf<(typeof writes)[Name]['txn']>

const namesByCode = new Map<number, OperationName>(
  Object.entries(operations).map(([name, { code }]) => [code, name as OperationName]),
)

export function operationName(code: number): OperationName | undefined {
  return namesByCode.get(code)
}
