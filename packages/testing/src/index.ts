/**
 * For the tests of programs that use ZooKeeper: an ensemble that fails on request, and a proxy that
 * disturbs connections.
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
 * - `ensemble/`: real servers, each in a worker thread of this process. A `TestServer` can be killed,
 *   paused and restarted; the `Ensemble` can be partitioned;
 * - `network/`: the proxy, and the faults of its connections: latency, bandwidth, holds, resets;
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
