/**
 * Whole clusters in one process, under one seed.
 *
 * `world/` has time, chance, network and disks; `cluster/` the real servers that live in it, driven
 * as `@zabra/server` drives them; `host/` what a real client needs of the world; `faults/` what goes
 * wrong; `history/` what servers did, and what must hold of it. `simulate` of `@zabra/testing` runs
 * the programs of users on these.
 *
 * The rest is not published: it runs the sweeps of this repository. Read `run.ts` for the course of
 * a run; `client/` and `workload/` for who asks servers what; `programs/` for programs on the client
 * and the recipes; `model/` for what ZooKeeper is supposed to do; `checkers/` for the questions;
 * `mutants/` for the proof that the questions can be answered with no.
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
