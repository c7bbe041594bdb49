/**
 * What a server decides: deterministic, without sockets, files, timers or clocks.
 *
 * Read `peer/peer.ts` for the path of a request, `operations/` for what each one does,
 * `tree/tree.ts` for where znodes live, `storage/` for what is on disk, and `ports.ts` for what
 * is asked of the host.
 */
export { AssertionError } from './assert.ts'
export { Database, type DatabaseOptions, type LoggedDigest } from './database.ts'
export { allowsEach, type AclRules } from './acl/permission.ts'
export { Peer } from './peer/peer.ts'
export { PeerBase, RestoreRefusal, type PeerOptions, type PeerPorts } from './peer/peer-base.ts'
export { ClientConnection, type ClientLink } from './pipeline/connection.ts'
export { Histogram, ServerStats, Summary } from './pipeline/stats.ts'
export * from './ports.ts'
export type { Trace, TraceEvent } from './trace.ts'
export { LogBatch } from './storage/log-batch.ts'
export { loadDatabase } from './storage/load.ts'
export { ConfigFiles } from './storage/config-files.ts'
export { MemoryDisk, type DiskCall, type Tear } from './storage/memory-disk.ts'
export { purge } from './storage/purge.ts'
export { RecoveryError } from './storage/recovery-error.ts'
export { describeRecovery, type RecoveryEvent } from './storage/recovery-events.ts'
export { LogFileReader, readLogs } from './storage/log-reader.ts'
export { loadRestored, type RestoredDatabase } from './storage/restored.ts'
export {
  loadSnapshot,
  SnapshotError,
  writeSnapshot,
  type SnapshotSink,
  type SnapshotSource,
} from './storage/snapshot.ts'
export { DiskFullError, LogFailedError, TxnLog } from './storage/txn-log.ts'
export type { Compression } from './storage/snapshot-output.ts'
export type { Transform } from './storage/snapshot-input.ts'
export {
  Election,
  type Decision,
  type ElectionConfig,
  type ElectionOptions,
  type ElectionReady,
  type ElectionTiming,
} from './election/election.ts'
export { Links, type ConnectionId, type LinkAction, type LinksOptions } from './election/links.ts'
export type { Candidate } from './election/vote.ts'
export { parseProperties, type ParsedProperties, type Property } from './text/properties.ts'
export * from './zab/membership.ts'
export * from './zab/quorum.ts'
export * from './zab/server-spec.ts'
export {
  Journal,
  type DiskStats,
  type JournalEvent,
  type JournalOptions,
  type TakenSnapshot,
} from './peer/journal.ts'
export { EnsemblePeer } from './peer/ensemble-peer.ts'
export type { Door, EnsembleOptions, Leadership, PeerNetwork } from './peer/ensemble-parts.ts'
export { rememberer } from './peer/own-history.ts'
export { CommittedLog } from './zab/committed-log.ts'
export type { ConfigStore } from './zab/config-book.ts'
export { Epochs } from './zab/epochs.ts'
export type { Membership } from './zab/membership.ts'
export type { LearnerView } from './zab/led-learner.ts'
export type { ZabEvent } from './zab/options.ts'
export { ZabStats, type ZabPhase } from './zab/zab-stats.ts'
export { PacketLink, type PeerWire } from './zab/packet-link.ts'
export type { ServerId } from './zab/quorum.ts'
export type { ServerSpec } from './zab/server-spec.ts'
export type { RecoveryOptions } from './storage/recovery.ts'
