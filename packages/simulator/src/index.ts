/**
 * Whole clusters in one process, under one seed.
 *
 * Read `run.ts` for the course of a run; `world/` for time, chance, network and disks;
 * `cluster/` for the real servers that live in it, driven as `@zabra/server` drives them;
 * `client/` and `workload/` for who asks them what; `faults/` for what goes wrong; `model/` for
 * what ZooKeeper is supposed to do; `checkers/` for the questions; `mutants/` for the proof that
 * the questions can be answered with no.
 */
export { run, type RunOptions, type RunResult } from './run.ts'
export { shrink, type Shrunk } from './shrink.ts'
export { mutants, programMutants, rareMutants } from './mutants/index.ts'
export type { Mutant } from './mutants/mutant.ts'
