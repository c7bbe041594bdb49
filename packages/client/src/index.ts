/**
 * A ZooKeeper client for Node, for zabra's servers and Apache's.
 *
 *     await using client = await connect('127.0.0.1:2181/app')
 *     await client.create('/greeting', 'hello')
 *     const { data } = await client.get('/greeting')
 *     await client.set('/greeting', 'hello again', { ifVersion: 0 })
 *     for await (const change of client.watch('/', { recursive: true })) console.log(change)
 *
 * `connect` returns a `Client`; its methods are the operations. Every call takes a `signal` and
 * `timeoutMs`. A refused operation throws an `OperationError`, which `isRefusal(error, 'noNode')`
 * recognizes; all errors say whether a write may have happened. Data are bytes, or values of a codec
 * (`text`, `json`). A client survives lost connections by itself and ends with its session.
 *
 * For readers of the source:
 *
 * - `client.ts`: the methods, `calls/` what each sends, `transaction.ts` transactions, `whole-trees.ts`
 *   and `tree-port.ts` work on trees;
 * - `machine/session-machine.ts`: how a session survives lost connections; `machine/conversation.ts`:
 *   how replies are matched to calls; both are state machines without I/O;
 * - `session-driver.ts`, `live-session.ts`: their driver, and the session as calls see it;
 * - `watching/`: iterations over changes that miss nothing across reconnects;
 * - `host.ts`, `node-host/`, `transport/`: what a client needs from its host, and Node's versions of it.
 *
 * `@zabra/client/internal` has more, for recipes and simulations. docs/client.md is the guide.
 */
export { Client } from './client.ts'
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
  EnsureOptions,
  ParentOptions,
  PutNodeOptions,
  ReadOptions,
  ReconfigOptions,
  RetryPolicy,
  SaslOptions,
  WatchableReadOptions,
  WithCodec,
  WithSchema,
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
