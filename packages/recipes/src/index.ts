/**
 * What programs build on ZooKeeper again and again, each in a file of its own: locks, elections,
 * barriers, queues, membership, shared values. They use nothing that `@zabra/client` does not
 * export, and work on any ZooKeeper.
 */
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
