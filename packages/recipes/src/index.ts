/**
 * What programs commonly build on ZooKeeper, one file each: locks, elections, barriers, queues,
 * membership, shared values. They use only exports of `@zabra/client`, and work with any ZooKeeper.
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
