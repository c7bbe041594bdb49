/**
 * What programs build on ZooKeeper again and again, each in a file of its own: locks, elections,
 * barriers, queues, membership, shared values. They use nothing that `@zabra/client` does not
 * export, and work on any ZooKeeper.
 */
export {
  joinGroup,
  watchGroup,
  type GroupOptions,
  type JoinOptions,
  type Member,
  type Members,
  type Membership,
} from './group.ts'
export type { Live, LiveListener } from './live.ts'
export type { NodeState } from './node.ts'
export type { Presence, Registration } from './registration.ts'
export {
  openTreeCache,
  type TreeCache,
  type TreeCacheOptions,
  type TreeChange,
  type TreeListener,
} from './tree-cache.ts'
export {
  hold,
  LostError,
  type Check,
  type Held,
  type HeldNode,
  type HoldOptions,
  type LossPolicy,
  type LossReason,
} from './held.ts'
export { Lock, type AcquireOptions, type LockOptions } from './lock.ts'
