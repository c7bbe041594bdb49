export type HistoryProblem =
  /** The point is older than what is kept. */
  | 'tooOld'
  /** The point is in the future, or this server has not logged it yet. */
  | 'notYet'
  /** A file cannot be read; the message names it. */
  | 'damaged'
  /** Nothing is kept, or files in between are missing. */
  | 'missing'

/** The past cannot be shown; the message says why, in words for users. */
export class HistoryError extends Error {
  override readonly name = 'HistoryError'
  readonly problem: HistoryProblem
  /** The oldest point that can be shown, if known. */
  readonly oldest: bigint | undefined

  constructor(problem: HistoryProblem, message: string, oldest?: bigint, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.problem = problem
    this.oldest = oldest
  }
}
