/**
 * Every byte format of ZooKeeper, declared once: the messages of clients, the packets between servers,
 * and the records in logs and snapshots. No I/O, and no state: what readers and
 * writers may remember of recent work is an object that their owner makes (`codec-memory.ts`).
 *
 * A declaration is both a type and a codec:
 *
 *     const Stat = record({ czxid: long, mzxid: long, version: int })   // a codec
 *     type Stat = TypeOf<typeof Stat>                                    // the type of its values
 *
 * The parts, in the order to read them:
 *
 * - `reader.ts`, `writer.ts`: the encoding ("jute"): big-endian integers, length-prefixed text and
 *   buffers, counted vectors, fields one after another without tags;
 * - `codec.ts`, `record.ts`: `record`, `vector` and others, which build codecs;
 * - `records/`: the declarations, one file each for clients, elections, quorum packets, transactions
 *   and files;
 * - `table.ts`, `operations.ts`: the table of operations. Dispatch on the server, the typed calls of
 *   the client, the bodies in the log, and names in metrics all follow from its entries;
 * - `transactions.ts`, `lists.ts`: transactions and multis, which are lists of operations;
 * - `errors.ts`, `codes.ts`: error codes, flags, event types;
 * - `frame.ts`, `packet-reader.ts`: cut streams of the client port and the quorum port;
 * - `http-api.ts`: the shapes of znodes and changes in the HTTP API;
 * - `path.ts`, `contention.ts`: rules that client, command and console share: legal paths, and how to
 *   recognize locks and queues by the names of znodes.
 */
export { copyWords, wordCopyMax } from './copy-words.ts'
export { decode, encode, vector, nullableVector, type Codec, type TypeOf } from './codec.ts'
export { MalformedError, NullError } from './malformed.ts'
export { Reader, type BufferKeeper } from './reader.ts'
export { record, type RecordOf } from './record.ts'
export { decodeText, encodeText } from './text.ts'
export { Writer } from './writer.ts'
export { CodecMemory } from './codec-memory.ts'
export { LastText, type TextBytes } from './last-text.ts'
export { FrameCutter, FrameLengthError, type FrameSink } from './frame.ts'
export { defaultPacketFieldBytesMax, PacketReader } from './packet-reader.ts'
export { errorCodes, errorName, type ErrorCode, type ErrorName } from './errors.ts'
export {
  addWatchModes,
  anyVersion,
  containerOwner,
  createFlags,
  eventTypes,
  permissions,
  syncConnected,
  watcherTypes,
  xids,
  type EventType,
} from './codes.ts'
export { joinPath, lastSlash, nameOf, parentOf, pathProblem } from './path.ts'
export { storedKind, storedTtlMs, type NodeKind } from './node-kind.ts'
export type {
  AclJson,
  ChangeJson,
  DataJson,
  DifferenceJson,
  NodeJson,
  PastNodeJson,
  SessionClientJson,
} from './http-api.ts'
export {
  candidatesAmong,
  contenderId,
  deadlocksIn,
  groupMember,
  isQueueItem,
  lineKinds,
  lineOf,
  queueItemsAmong,
  waitsIn,
  type Candidate,
  type Contender,
  type Line,
  type LineKind,
  type Standing,
  type Wait,
} from './contention.ts'
export {
  codes,
  inline,
  operationName,
  operations,
  reads,
  writes,
  type Operation,
  type OperationName,
  type ReadName,
  type RequestOf,
  type ResponseOf,
  type TxnOf,
  type WriteName,
} from './operations.ts'
export * from './records/client.ts'
export * from './records/common.ts'
export * from './records/election.ts'
export * from './lists.ts'
export * from './records/quorum.ts'
export * from './records/storage.ts'
export * from './records/transaction.ts'
export * from './transactions.ts'
