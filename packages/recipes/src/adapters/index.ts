/**
 * Adapters for schedulers, so that a task runs on one instance of a program at a time: node-cron's
 * `runCoordinator`, and jobs and methods for those that ask nobody, such as NestJS's.
 */
export {
  coordinated,
  OnLeader,
  type CoordinatedOptions,
  type HasCoordinator,
} from './coordinated-job.ts'
export { LeaderCoordinator, type LeaderCoordinatorOptions } from './leader-coordinator.ts'
