import type { Client, Stat } from '@zabra/client'
import { guarded } from '@zabra/client/internal'

/** That what a node holds cannot be understood. */
export interface Problem {
  readonly path: string
  /** What the codec has thrown. */
  readonly problem: unknown
  readonly stat: Stat
}

export type ProblemListener = (problem: Problem) => void

/** What the listener throws is the program's own error: it must see it, and all else goes on. */
export function tellProblem<P = Problem>(
  client: Client,
  listener: ((problem: P) => void) | undefined,
  problem: P,
): void {
  guarded(client.host, () => listener?.(problem))
}
