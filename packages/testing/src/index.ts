/**
 * For the tests of programs that use ZooKeeper: an ensemble that fails on request, a proxy that
 * disturbs connections, and simulations of whole programs.
 *
 *     const ensemble = await startEnsemble({ servers: 3 })
 *     const client = await connect(ensemble.connectString)
 *     await (await ensemble.leader()).kill()
 *     await client.exists('/worker')                  // the client moves to another server
 *     await ensemble.stop()
 *
 *     await using proxy = await startProxy('127.0.0.1:2181')
 *     proxy.cut()                                     // then connect through proxy.connectString
 *
 *     await simulate({ seeds: 100 }, ({ program, check }) => {
 *       program(3, async ({ client, signal }) => {})  // yours, under virtual time and faults
 *       check('what must hold', () => true)
 *     })
 *
 * - `ensemble/`: real servers, each in a worker thread of this process. A `TestServer` can be killed,
 *   paused and restarted; the `Ensemble` can be partitioned;
 * - `network/`: the proxy, and the faults of its connections: latency, bandwidth, holds, resets;
 * - `simulate/`: runs programs on the servers of `@zabra/simulator`. `simulate/run.ts` is the course of
 *   one run, `simulate/program.ts` a program in it, `simulate/faults.ts` the faults, and
 *   `simulate/virtual/` replaces Node's clocks, timers and random numbers for programs;
 * - `wait.ts`: bounded waits for conditions and client states, to use instead of sleeps.
 *
 * docs/testing.md is the guide.
 */
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
