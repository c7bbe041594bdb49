import type { Client, Stat } from '@zabra/client'
import { guarded } from '@zabra/client/internal'

/** The data of a node cannot be decoded. */
export interface Problem {
  readonly path: string
  /** The error of the codec. */
  readonly problem: unknown
  readonly stat: Stat
}

export type ProblemListener = (problem: Problem) => void

/** If the listener throws, the program must see the error, and everything else continues. */
export function tellProblem<P = Problem>(
  client: Client,
  listener: ((problem: P) => void) | undefined,
  problem: P,
): void {
  guarded(client.host, () => listener?.(problem))
}
