import { broadcastMutants } from './broadcast.ts'
import { epochMutants } from './epochs.ts'
import { historyMutants } from './histories.ts'
import { memberMutants } from './members.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { observerMutants } from './observers.ts'
import { sessionMutants } from './sessions.ts'
import { synchronizationMutants } from './synchronization.ts'

/** Errors in how servers agree. */
export const ensembleMutants: readonly Mutant[] = [
  ...epochMutants,
  ...synchronizationMutants,
  ...historyMutants,
  ...broadcastMutants,
  ...sessionMutants,
  ...memberMutants,
  ...observerMutants,
]
