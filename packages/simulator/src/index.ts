/**
 * Runs whole clusters in one process, reproducible by a seed: real servers and clients in a virtual
 * world with faults, and checkers that compare what happened with what ZooKeeper guarantees.
 *
 * These parts are published, for `simulate` of `@zabra/testing`, which runs the programs of users:
 *
 * - `world/`: virtual time, randomness, network and disks;
 * - `cluster/`: real servers from `@zabra/core`, driven as `@zabra/server` drives them;
 * - `host/`: what a real client needs of the world;
 * - `faults/`: crashes, partitions, disk faults, and longer scenarios;
 * - `history/`: records of what clients saw and what servers did;
 * - `client/`: the clients that some faults and the runs of this repository use.
 *
 * The others are for the runs of this repository. Begin with `run.ts`, the course of one run: draw a
 * configuration, a workload and faults; run them; heal everything; check.
 *
 * - `workload/`: the requests that clients send;
 * - `programs/`: programs on the real `@zabra/client` and `@zabra/recipes`, and their own checks;
 * - `model/`: a second, simple implementation of ZooKeeper's semantics;
 * - `checkers/`: what must hold of a history;
 * - `mutants/`: deliberate errors, which the checkers must find.
 *
 * `npm run sim -- --seed 42` repeats one run; docs/simulation.md is the guide.
 */
export { Cluster, type ClusterOptions } from './cluster/cluster.ts'
export type { ServerOptions } from './cluster/server-options.ts'
export { wallStartMs } from './cluster/server-process.ts'
export type { SimServer } from './cluster/server.ts'
export { emptyOne } from './faults/empty.ts'
export { heal } from './faults/inject.ts'
export { leaderOf } from './faults/leader-of.ts'
export { ProgramProcess, type ProcessParts } from './host/program-process.ts'
export { Random } from './world/random.ts'
export { afterMacrotask, type World } from './world/world.ts'
