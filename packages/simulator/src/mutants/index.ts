import { certaintyMutants } from './certainty.ts'
import { clientMutants } from './client.ts'
import { ensembleMutants } from './ensemble.ts'
import type { Mutant } from './mutant.ts'
import { orderMutants } from './orders.ts'
import { pipelineMutants } from './pipeline.ts'
import type { ProgramMutant } from './program-mutant.ts'
import { recoveryMutants } from './recovery.ts'
import { moreRecipeMutants } from './more-recipes.ts'
import { recipeMutants } from './recipes.ts'
import { storageMutants } from './storage.ts'
import { windowMutants } from './windows.ts'

/** One deliberate error each: proof that the checkers can fail. */
export const mutants: readonly Mutant[] = [
  ...storageMutants,
  ...recoveryMutants,
  ...pipelineMutants,
  ...ensembleMutants,
  ...orderMutants,
  ...windowMutants,
]

/** As the others, but it takes more seeds to catch them than a test should wait for. */
export const rareMutants: readonly Mutant[] = certaintyMutants

/** The same for programs on the client, and for recipes. */
export const programMutants: readonly ProgramMutant[] = [
  ...clientMutants,
  ...recipeMutants,
  ...moreRecipeMutants,
]
