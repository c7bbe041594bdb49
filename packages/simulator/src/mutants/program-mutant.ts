import type { Client } from '@zabra/client'
import type { Held } from '@zabra/recipes'
import type { ZabKnobs } from '../cluster/server-options.ts'
import type { WorkloadName } from '../programs/workloads.ts'

/** One deliberate error of the client or of a recipe, put into it from outside. */
export interface ProgramMutant {
  readonly name: string
  /** Where it shows. */
  readonly workload: WorkloadName
  /** Drawn when not given. */
  readonly servers?: number
  /** Where it shows only if leaders are configured so. */
  readonly zab?: ZabKnobs
  readonly client?: (client: Client) => void
  readonly held?: (held: Held) => void
}
