/**
 * A ZooKeeper server without I/O: the tree of znodes, sessions, watches, the log, snapshots, recovery,
 * leader election, Zab, and history. It is deterministic. It has no socket, file, timer, clock or
 * random number; its host passes them in through the interfaces of `ports.ts`. `@zabra/server` is the
 * host in production, the simulator is the host in tests.
 *
 * A host recovers a database from a disk, creates a `Peer` (standalone) or an `EnsemblePeer` and a
 * `Journal`, and then passes in what happens: the bytes of connections, the time, finished disk writes.
 *
 * The folders are layers; each imports only from those before it:
 *
 * - `base/`, `membership/`: general tools; the members of an ensemble and its quorums;
 * - `state/`: what a transaction changes: tree, ACLs, watches, and the database that holds them;
 * - `operations/`: one file per operation;
 * - `storage/`, `history/`: log, snapshots and recovery; questions about the past;
 * - `service/`: connections, sessions, the order of requests, replies;
 * - `consensus/`: election and Zab, as state machines that never wait;
 * - `peer/`: a whole server, and the drivers of those machines.
 *
 * Begin with `service/client-pipeline.ts` for the path of a request, `operations/set-data.ts` for a
 * typical operation, and `consensus/zab/leader.ts` for an ensemble. ARCHITECTURE.md follows a write
 * through all of them.
 */
export { AssertionError } from './base/assert.ts'
export { Database, type DatabaseOptions } from './state/database.ts'
export type { LoggedDigest } from './state/digest-check.ts'
export { noNode } from './state/tree/tree.ts'
export { allows, grantsEach, maskAcl, type AclRules } from './state/acl/permission.ts'
export { Peer } from './peer/peer.ts'
export { PeerBase, RestoreRefusal, type PeerOptions, type PeerPorts } from './peer/peer-base.ts'
export { ClientConnection, type ClientLink } from './service/connection.ts'
export { apachePasswords, type SessionPasswords } from './service/sessions/password.ts'
export {
  SessionEnds,
  type ConnectionEnd,
  type PastConnection,
  type SessionEnd,
} from './service/sessions/session-ends.ts'
export { Guesses } from './service/guesses.ts'
export { defaultLimits, limitNames, type LimitName, type ServiceLimits } from './service/limits.ts'
export { hex } from './base/hex.ts'
export { Histogram, Summary } from './base/statistics.ts'
export { ServerStats } from './service/server-stats.ts'
export type { ClientCounts, Load, LoadReport, SlowRequest } from './service/load/load.ts'
export type { Counted } from './service/load/top-counts.ts'
export * from './ports.ts'
export type { Trace, TraceEvent } from './service/trace.ts'
export type { SnapshotSource } from './state/snapshot-source.ts'
export { changeKinds, changesOf, type Change, type ChangeKind } from './history/change.ts'
export type { Difference } from './history/compare.ts'
export { HistoryError, type HistoryProblem } from './history/error.ts'
export { passes, type ChangeFilter } from './history/filter.ts'
export {
  History,
  type ChangePage,
  type HistoryExtent,
  type HistoryOptions,
  type PageOptions,
  type Point,
  type ZnodeMoment,
} from './history/history.ts'
export type { Pause } from './history/log-index.ts'
export type { Gap, HistoryEvent, ZxidRange } from './history/past-logs.ts'
export { PastTree, type PastNode } from './history/past-tree.ts'
export { historyFolder, pastFiles, type HistoryPlaces } from './history/places.ts'
export type { HistoryRetention } from './history/retention.ts'
export {
  childrenAt,
  everything,
  nodeAt,
  nodesAt,
  subtreeAt,
  type Selection,
} from './history/selection.ts'
export { LogBatch } from './storage/log/log-batch.ts'
export { loadDatabase, LoadingDatabase } from './storage/recovery/load.ts'
export { logName, logsAmong, snapshotsAmong, type StoredFile } from './storage/disk/files.ts'
export { ConfigFiles } from './storage/config-files.ts'
export { MemoryDisk, type DiskCall, type Tear } from './storage/disk/memory-disk.ts'
export { purge } from './storage/purge.ts'
export { RecoveryError } from './storage/recovery/recovery-error.ts'
export { type RecoveryEvent } from './storage/recovery/recovery-events.ts'
export {
  CopyError,
  copyRecords,
  type CopyProblem,
  type RecordRange,
} from './storage/log/copy-records.ts'
export { counterOf, epochOf, epochStart, isNextZxid } from './storage/zxid.ts'
export { LogFileReader, readLogs, type LogEnd } from './storage/log/log-reader.ts'
export { loadRestored, type RestoredDatabase } from './storage/recovery/restored.ts'
export {
  loadSnapshot,
  SnapshotError,
  writeSnapshot,
  type SnapshotSink,
} from './storage/snapshot/snapshot.ts'
export { nodeBytesMax } from './storage/snapshot/snapshot.ts'
export { looksComplete } from './storage/snapshot/snapshot-validity.ts'
export { snapshotReach, type SnapshotReach } from './storage/snapshot/snapshot-reach.ts'
export { DiskFullError, LogFailedError, TxnLog } from './storage/log/txn-log.ts'
export type { Compression } from './storage/snapshot/snapshot-output.ts'
export type { Transform } from './storage/snapshot/snapshot-input.ts'
export {
  Election,
  type Decision,
  type ElectionConfig,
  type ElectionOptions,
  type ElectionReady,
  type ElectionTiming,
} from './consensus/election/election.ts'
export {
  Links,
  type ConnectionId,
  type LinkAction,
  type LinksOptions,
} from './consensus/election/links.ts'
export type { Candidate } from './consensus/election/vote.ts'
export { parseProperties, type ParsedProperties, type Property } from './base/properties.ts'
export * from './membership/membership.ts'
export { membersAfter } from './operations/reconfig.ts'
export * from './membership/quorum.ts'
export * from './membership/server-spec.ts'
export { Journal } from './peer/journal.ts'
export type {
  BatchSource,
  DiskStats,
  JournalEvent,
  JournalOptions,
  TakenSnapshot,
} from './peer/journal-options.ts'
export { EnsemblePeer } from './peer/ensemble-peer.ts'
export type {
  PeerPort,
  EnsembleOptions,
  Leadership,
  PeerNetwork,
  ServedObservers,
} from './peer/ensemble-parts.ts'
export { recordInto } from './peer/local-history.ts'
export { CommittedLog } from './storage/log/committed-log.ts'
export type { ConfigStore } from './membership/membership-state.ts'
export { Epochs } from './storage/epochs.ts'
export type { Membership } from './membership/membership.ts'
export type { LearnerView } from './consensus/zab/learner-progress.ts'
export type { Contradiction, Remedy, ZabEvent } from './consensus/zab/options.ts'
export { ZabStats, type ZabPhase } from './consensus/zab/zab-stats.ts'
export { PacketLink, type PeerWire } from './peer/links/packet-link.ts'
export type { ServerId } from './membership/quorum.ts'
export type { ServerSpec } from './membership/server-spec.ts'
export type { Recovered, RecoveryOptions } from './storage/recovery/recovery.ts'
