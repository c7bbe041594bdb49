/**
 * The table of operations: one entry each, with its number and its records. Dispatch on the server,
 * the calls of the client, the bodies in the log, and the names in logs and metrics all follow from
 * it. `operations.ts` adds the entries that contain lists of other entries, multi and multiRead.
 */
import type { Codec } from './codec.ts'
import * as client from './records/client.ts'
import * as txn from './records/transaction.ts'

export interface Operation {
  /** The number on the wire and in the log. A number once used stays reserved. */
  readonly code: number
  readonly request: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
  readonly response: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
  /** The operation whose result header and response replace this one's in a list. */
  readonly inList?: string
}

export interface Write extends Operation {
  readonly txn: Codec<any> // oxlint-disable-line typescript/no-explicit-any -- a table of different codecs
}

/** Operations that become a transaction, which is logged and replicated. */
export const singleWrites = {
  create: {
    code: 1,
    request: client.CreateRequest,
    txn: txn.CreateTxn,
    response: client.CreateResponse,
    inList: 'create',
  },
  delete: {
    code: 2,
    request: client.DeleteRequest,
    txn: txn.DeleteTxn,
    response: client.Empty,
    inList: 'delete',
  },
  setData: {
    code: 5,
    request: client.SetDataRequest,
    txn: txn.SetDataTxn,
    response: client.StatResponse,
    inList: 'setData',
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
    inList: 'check',
  },
  create2: {
    code: 15,
    request: client.CreateRequest,
    txn: txn.CreateTxn,
    response: client.Create2Response,
    inList: 'create2',
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
    inList: 'create2',
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
    inList: 'create2',
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
export const singleReads = {
  exists: { code: 3, request: client.WatchableRequest, response: client.StatResponse },
  getData: {
    code: 4,
    request: client.WatchableRequest,
    response: client.GetDataResponse,
    inList: 'getData',
  },
  getACL: { code: 6, request: client.PathRequest, response: client.GetAclResponse },
  getChildren: {
    code: 8,
    request: client.WatchableRequest,
    response: client.GetChildrenResponse,
    inList: 'getChildren',
  },
  sync: { code: 9, request: client.SyncRequest, response: client.SyncResponse },
  ping: { code: 11, request: client.Empty, response: client.Empty },
  getChildren2: {
    code: 12,
    request: client.WatchableRequest,
    response: client.GetChildren2Response,
  },
  checkWatches: { code: 17, request: client.WatchTypeRequest, response: client.Empty },
  removeWatches: { code: 18, request: client.WatchTypeRequest, response: client.Empty },
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
