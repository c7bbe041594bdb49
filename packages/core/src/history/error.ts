export type HistoryProblem =
  /** It is older than what is kept. */
  | 'tooOld'
  /** It has not happened yet, or not been logged here yet. */
  | 'notYet'
  /** A file cannot be read; the message names it. */
  | 'damaged'
  /** Nothing is kept, or files in between are missing. */
  | 'missing'

/** The past cannot be shown; the message says why, in words for users. */
export class HistoryError extends Error {
  override readonly name = 'HistoryError'
  readonly problem: HistoryProblem
  /** The oldest point that can be shown, where that is known. */
  readonly oldest: bigint | undefined

  constructor(problem: HistoryProblem, message: string, oldest?: bigint, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.problem = problem
    this.oldest = oldest
  }
}
