import type { Client } from '@zabra/client'
import type { Held } from '@zabra/recipes'
import type { WorkloadName } from '../programs/workloads.ts'

/** One deliberate error of the client or of a recipe, put into it from outside. */
export interface ProgramMutant {
  readonly name: string
  /** Where it shows. */
  readonly workload: WorkloadName
  /** Drawn when not given. */
  readonly servers?: number
  readonly client?: (client: Client) => void
  readonly held?: (held: Held) => void
}
