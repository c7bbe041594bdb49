export {
  startEnsemble,
  type Ensemble,
  type EnsembleOptions,
  type PartitionMember,
} from './ensemble/ensemble.ts'
export type { Role } from './ensemble/messages.ts'
export type { StopOptions, TestServer } from './ensemble/test-server.ts'
export { startProxy, type FaultProxy } from './network/fault-proxy.ts'
export type { FaultLink, Interceptor } from './network/fault-link.ts'
export type { Direction, DirectionOption, Faults } from './network/faults.ts'
export { simulate } from './simulate/simulate.ts'
export { SimulationError } from './simulate/simulation-error.ts'
export type {
  FaultName,
  ProgramMain,
  ProgramTools,
  Scenario,
  SeedRange,
  SimulatedRun,
  SimulateOptions,
  SimulationResult,
} from './simulate/options.ts'
export {
  aborted,
  nextState,
  until,
  untilChildren,
  untilState,
  WaitTimeoutError,
  type PollOptions,
  type WaitOptions,
} from './wait.ts'
