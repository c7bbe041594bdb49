import { certaintyMutants } from './certainty.ts'
import { clientMutants } from './client.ts'
import { ensembleMutants } from './ensemble.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { orderMutants } from './orders.ts'
import { pipelineMutants } from './pipeline.ts'
import type { ProgramMutant } from './program-mutant.ts'
import { recoveryMutants } from './recovery.ts'
import { moreRecipeMutants } from './more-recipes.ts'
import { presenceMutants } from './presence.ts'
import { recipeMutants } from './recipes.ts'
import { storageMutants } from './storage.ts'
import { windowMutants } from './windows.ts'

/** Each is one deliberate error, which proves that the checkers can fail. */
export const mutants: readonly Mutant[] = [
  ...storageMutants,
  ...recoveryMutants,
  ...pipelineMutants,
  ...ensembleMutants,
  ...orderMutants,
  ...windowMutants,
]

/** The same, but catching them takes more seeds than a test should run. */
export const rareMutants: readonly Mutant[] = certaintyMutants

/** The same for programs on the client, and for recipes. */
export const programMutants: readonly ProgramMutant[] = [
  ...clientMutants,
  ...recipeMutants,
  ...moreRecipeMutants,
  ...presenceMutants,
]
