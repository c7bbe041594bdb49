import type { Client } from '@zabra/client'
import type { Held } from '@zabra/recipes'
import type { ZabKnobs } from '../cluster/server-options.ts'
import type { WorkloadName } from '../programs/workloads.ts'

/** One deliberate error of the client or of a recipe, put into it from outside. */
export interface ProgramMutant {
  readonly name: string
  /** The workload that reveals it. */
  readonly workload: WorkloadName
  /** Random by default. */
  readonly servers?: number
  /** Settings of leaders that the error needs, if any. */
  readonly zab?: ZabKnobs
  /** Set if it shows only where sessions begin as local ones. */
  readonly localSessions?: boolean
  readonly client?: (client: Client) => void
  readonly held?: (held: Held) => void
}
