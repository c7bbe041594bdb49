import { clientMutants } from './client.ts'
import { ensembleMutants } from './ensemble.ts'
import type { Mutant } from './mutant.ts'
import { orderMutants } from './orders.ts'
import { pipelineMutants } from './pipeline.ts'
import type { ProgramMutant } from './program-mutant.ts'
import { moreRecipeMutants } from './more-recipes.ts'
import { recipeMutants } from './recipes.ts'
import { storageMutants } from './storage.ts'

/** One deliberate error each: proof that the checkers can fail. */
export const mutants: readonly Mutant[] = [
  ...storageMutants,
  ...pipelineMutants,
  ...ensembleMutants,
  ...orderMutants,
]

/** The same for programs on the client, and for recipes. */
export const programMutants: readonly ProgramMutant[] = [
  ...clientMutants,
  ...recipeMutants,
  ...moreRecipeMutants,
]
