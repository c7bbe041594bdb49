/**
 * A client of ZooKeeper.
 *
 *     await using client = await connect('127.0.0.1:2181/app')
 *     await client.create('/greeting', 'hello')
 *     for await (const change of client.watch('/', { recursive: true })) console.log(change)
 *
 * Read `client.ts` for the API, `machine/session-machine.ts` for how a session is kept alive over
 * one connection after another, `machine/conversation.ts` for how requests and replies meet.
 */
export { Client, type EnsureOptions, type ReconfigOptions } from './client.ts'
export type { AuthListener, StateListener } from './live-session.ts'
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
  type ErrorDetails,
  type Refusal,
} from './errors.ts'
export type { AclAndStat, Children, Created, Data, Identity } from './calls/kinds.ts'
export { noData } from './calls/data-bytes.ts'
export { creatorAcl, openAcl, readAcl } from './calls/acls.ts'
export { digestAcl } from './node-host/digest-acl.ts'
export type { Channel, Host, ServerAddress, Stream, StreamEvents } from './host.ts'
export { makeGuid } from './guid.ts'
export { nodeHost, type NodeHostOptions } from './node-host/node-host.ts'
export type { OneShotWatch, WatchEvent } from './machine/watch-registry.ts'
export type {
  AuthOption,
  CallOptions,
  ClientOptions,
  Consistency,
  CreateOptions,
  ParentOptions,
  ReadOptions,
  RetryPolicy,
  SaslOptions,
  WatchableReadOptions,
  WithCodec,
  WriteOptions,
} from './options.ts'
export type { ReadQuery, ReadResults } from './read-all.ts'
export type { ResumableSession, SessionInfo, State } from './state.ts'
export type { Transaction, TransactionCreated } from './transaction.ts'
export type { TlsOptions } from './transport/tls.ts'
export type { Change } from './watching/change.ts'
export type { Watching, WatchOptions } from './watching/watching.ts'
export { permissions, type Acl, type Stat } from '@zabra/protocol'
