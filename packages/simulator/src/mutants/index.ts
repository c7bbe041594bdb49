import { ensembleMutants } from './ensemble.ts'
import type { Mutant } from './mutant.ts'
import { pipelineMutants } from './pipeline.ts'
import { storageMutants } from './storage.ts'

/** One deliberate error each: proof that the checkers can fail. */
export const mutants: readonly Mutant[] = [
  ...storageMutants,
  ...pipelineMutants,
  ...ensembleMutants,
]
