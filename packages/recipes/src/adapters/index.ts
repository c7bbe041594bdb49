/**
 * Adapters for schedulers, so that a task runs on one instance of a program at a time: node-cron's
 * `runCoordinator`, and wrappers for schedulers without coordination, such as NestJS's.
 */
export {
  coordinated,
  OnLeader,
  type CoordinatedOptions,
  type HasCoordinator,
} from './coordinated-job.ts'
export { LeaderCoordinator, type LeaderCoordinatorOptions } from './leader-coordinator.ts'
