import type { Stage } from './stage.ts'
import type { Player } from './troupe.ts'

/** Something that programs of several clients do together on one server. */
export interface Scenario {
  /** Includes the players. */
  readonly name: string
  readonly cast: readonly Player[]
  /** Runs on a separate path; throws if something is wrong. */
  play(stage: Stage, path: string): Promise<void>
}
