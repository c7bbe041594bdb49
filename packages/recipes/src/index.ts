/**
 * Common patterns on ZooKeeper, one file each. Recipes use only `@zabra/client`, work with
 * any ZooKeeper, and use the znode layouts of Apache Curator where it has the same recipe.
 *
 *     await using held = await new Lock(client, '/locks/report').acquire({ timeoutMs: 10_000 })
 *     held.signal.addEventListener('abort', () => stopWriting())   // the lock may be lost
 *     await held.guard(client.transaction().set('/report', 'done')).commit()
 *
 * - to hold something: `Lock`, `SimpleLock`, `ReadWriteLock`, `MultiLock`, `Semaphore`, `Lease`,
 *   `Election`;
 * - to wait for each other: `Barrier`, `DoubleBarrier`, `Rendezvous`, `TwoPhaseCommit`;
 * - to hand over work: `Queue`, `PriorityQueue`, `DelayQueue`, `IdQueue`, `SetPartitioner`;
 * - to share values: `AtomicValue`, `Counter`, `SharedCount`, `Configuration`, `TreeCache`;
 * - to be found: `Group`, `Party`, `PersistentNode`, `ServiceDiscovery`, `NameService`.
 *
 * Whatever is held is a `Held`: it has a fencing token that only grows, a signal that aborts as soon as
 * it may be lost, and a guard that makes a transaction fail if it is lost. Waiting never polls.
 *
 * The folders hold what recipes share, each importing only from those before it: `waiting/` (signals,
 * deadlines, changes), `nodes/` (sequential and container nodes), `live/` (values that follow a node),
 * `holding/` (`Held`), `turns/` (queues of contenders), `items/` (queues of items). `adapters/` has the
 * interfaces of other libraries. docs/choosing-a-recipe.md helps to choose.
 */
export { Barrier } from './barrier.ts'
export { DoubleBarrier, type Inside } from './double-barrier.ts'
export { Election, type Candidate, type Term } from './election.ts'
export {
  AtomicValue,
  type AtomicReadOptions,
  type AtomicValueOptions,
  type Versioned,
} from './atomic-value.ts'
export { Configuration, type ConfigurationOptions } from './configuration.ts'
export { Counter, type CounterLayout, type CounterOptions } from './counter.ts'
export {
  Group,
  type GroupOptions,
  type JoinOptions,
  type Member,
  type Members,
  type Membership,
  type WatchGroupOptions,
} from './group.ts'
export type { Live, LiveListener } from './live/live.ts'
export type { LiveOptions } from './live/live-node.ts'
export { NameService, type NameServiceOptions } from './name-service.ts'
export type { NodeState } from './nodes/node.ts'
export { PriorityQueue } from './priority-queue.ts'
export type { Problem, ProblemListener } from './live/problem.ts'
export { Queue, type PutOptions, type QueueOptions } from './queue.ts'
export type { CompleteOptions, QueueItem } from './items/queue-item.ts'
export type { Presence, Registration } from './holding/registration.ts'
export { Rendezvous, type Meeting, type RendezvousOptions } from './rendezvous.ts'
export {
  ServiceDiscovery,
  type DiscoverOptions,
  type Service,
  type ServiceOffer,
  type Strategy,
} from './service-discovery.ts'
export { instanceCodec, uriOf, type ServiceInstance, type UriSpec } from './service-instance.ts'
export {
  TreeCache,
  type TreeCacheOptions,
  type TreeChange,
  type TreeListener,
} from './tree-cache.ts'
export type { TreeProblem, TreeScopeOptions } from './live/tree-scope.ts'
export type { CommitForm, Decision } from './commit-votes.ts'
export {
  TwoPhaseCommit,
  type CommitProposal,
  type CommitSite,
  type DecisionOptions,
  type ProposeOptions,
  type TwoPhaseCommitOptions,
} from './two-phase-commit.ts'
export {
  hold,
  LostError,
  type Check,
  type Held,
  type HeldNode,
  type HeldTrace,
  type HoldOptions,
  type LossPolicy,
  type LossReason,
} from './holding/held.ts'
export { holdAll } from './hold-all.ts'
export { DelayQueue, type DelayOptions } from './delay-queue.ts'
export { IdQueue } from './id-queue.ts'
export { Lease, type LeaseOptions } from './lease.ts'
export { MultiLock, type HeldLocks } from './multi-lock.ts'
export { Party } from './party.ts'
export {
  PersistentNode,
  PersistentTtlNode,
  type PersistentNodeOptions,
  type PersistentTtlNodeOptions,
} from './persistent-node.ts'
export {
  SetPartitioner,
  type RunOptions,
  type SetPartitionerOptions,
  type Share,
} from './set-partitioner.ts'
export { SessionHandOver } from './session-hand-over.ts'
export { SharedCount } from './shared-count.ts'
export { Lock } from './lock.ts'
export { ReadWriteLock } from './read-write-lock.ts'
export {
  RefusedError,
  RevocableLock,
  type RevocableHeld,
  type RevocableOptions,
  type RevocableSide,
  type RevokeOptions,
} from './revocable-lock.ts'
export type { AcquireOptions, TurnLock } from './turns/turn-lock.ts'
export { Semaphore, type PermitOptions } from './semaphore.ts'
export { SimpleLock } from './simple-lock.ts'
export type { LockOptions } from './turns/turn.ts'
