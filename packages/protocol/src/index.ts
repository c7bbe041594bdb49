/**
 * Every byte format of ZooKeeper, as declarations: no I/O, and no state except small caches of
 * recent work (`text-bytes.ts`, `remembered` in `jute.ts`).
 *
 * Read `jute.ts` for the encoding, `records/` for messages and stored records, `table.ts` for the
 * table of operations, and `frame.ts` for how a stream becomes frames.
 */
export { copyWords, wordCopyMax } from './copy-words.ts'
export {
  decode,
  decodeText,
  encode,
  encodeText,
  MalformedError,
  NullError,
  Reader,
  record,
  vector,
  nullableVector,
  Writer,
  type BufferKeeper,
  type Codec,
  type RecordOf,
  type TypeOf,
} from './jute.ts'
export { bytesOfText, rememberText, type TextBytes } from './text-bytes.ts'
export { FrameCutter, FrameLengthError, type FrameSink } from './frame.ts'
export { defaultPacketFieldBytesMax, PacketReader } from './packet-reader.ts'
export { errorCodes, errorName, type ErrorCode, type ErrorName } from './errors.ts'
export {
  addWatchModes,
  anyVersion,
  containerOwner,
  createFlags,
  defaultFrameBytesMax,
  eventTypes,
  permissions,
  syncConnected,
  watcherTypes,
  xids,
  type EventType,
} from './codes.ts'
export { joinPath, lastSlash, nameOf, parentOf, pathProblem } from './path.ts'
export { storedKind, storedTtlMs, type NodeKind } from './node-kind.ts'
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
