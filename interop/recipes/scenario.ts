import type { Stage } from './stage.ts'
import type { Player } from './troupe.ts'

/** Something that programs of several clients do together on one server. */
export interface Scenario {
  /** Ours among others. */
  readonly name: string
  readonly cast: readonly Player[]
  /** On a path that is theirs alone; throws where something is not as it should be. */
  play(stage: Stage, path: string): Promise<void>
}
