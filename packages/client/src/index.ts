/**
 * A client of ZooKeeper.
 *
 *     await using client = await connect('127.0.0.1:2181/app')
 *     await client.create('/greeting', 'hello')
 *     for await (const change of client.watch('/', { recursive: true })) console.log(change)
 *
 * `@zabra/client/internal` has more, for recipes and simulations.
 *
 * Read `client.ts` for the API, `machine/session-machine.ts` for how a session survives lost
 * connections, and `machine/conversation.ts` for how replies are matched to requests.
 */
export { Client, type EnsureOptions, type ReconfigOptions, type WithSchema } from './client.ts'
export type { AuthListener, StateListener } from './live-session.ts'
export type { Logger } from './operator-log.ts'
export { joinPath, nodeName, parentPath } from './paths.ts'
export { retry, settle, type RetryOptions, type SettleOptions } from './retry.ts'
export type { ClientStats, Histogram, OperationStats } from './request-stats.ts'
export type { AuthRefusal, ConnectionTrace, RequestTrace, StateTrace } from './traces.ts'
export { connect } from './connect.ts'
export { bytes, CodecError, json, text, type Codec, type StandardSchema } from './codec.ts'
export {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  OperationError,
  SessionExpiredError,
  TimeoutError,
  TransactionError,
  ZabraError,
  type ErrorCode,
  type ErrorDetails,
  type Refusal,
} from './errors.ts'
export type { AclAndStat, Children, Created, Data, Identity } from './calls/kinds.ts'
export type { Permissions } from './calls/acls.ts'
export { acl } from './node-host/acl.ts'
export { noData } from './calls/data-bytes.ts'
export type { OneShotWatch, WatchEvent } from './machine/watch-registry.ts'
export type {
  AuthOption,
  CallOptions,
  ClientOptions,
  Consistency,
  CreateOptions,
  ParentOptions,
  PutNodeOptions,
  ReadOptions,
  RetryPolicy,
  SaslOptions,
  WatchableReadOptions,
  WithCodec,
  WriteOptions,
} from './options.ts'
export type { ReadQuery, ReadResults } from './read-all.ts'
export type { ResumableSession, SessionInfo, State } from './state.ts'
export { formatZxid, type Stat, type StatJson } from './stat.ts'
export type { AnyTransaction, Guard, Transaction, TransactionCreated } from './transaction.ts'
export type { TlsOptions } from './transport/tls.ts'
export type { Change } from './watching/change.ts'
export type { Watching, WatchOptions } from './watching/watching.ts'
export { permissions, type Acl } from '@zabra/protocol'
