/**
 * Runs whole clusters in one process, reproducible by a seed: real servers and clients in a virtual
 * world with faults, and checkers that compare what happened with what ZooKeeper guarantees.
 *
 * Begin with `run.ts`, the course of one run: draw a configuration, a workload and faults; run
 * them; heal everything; check. The folders are its parts:
 *
 * - `world/`: virtual time, randomness, network and disks;
 * - `cluster/`: real servers from `@zabra/core`, driven as `@zabra/server` drives them;
 * - `client/` and `workload/`: clients, and the requests they send;
 * - `programs/`: programs on the real `@zabra/client` and `@zabra/recipes`, and their own checks;
 * - `faults/`: crashes, partitions, disk faults, and longer scenarios;
 * - `history/`: records of what clients saw and what servers did;
 * - `model/`: a second, simple implementation of ZooKeeper's semantics;
 * - `checkers/`: what must hold of a history;
 * - `mutants/`: deliberate errors, which the checkers must find.
 *
 * `npm run sim -- --seed 42` repeats one run; docs/simulation.md is the guide.
 */
export { run, type RunOptions, type RunResult } from './run.ts'
export { shrink, type Shrunk } from './shrink.ts'
export { mutants, programMutants, rareMutants } from './mutants/index.ts'
export type { Mutant } from './mutants/mutant.ts'
