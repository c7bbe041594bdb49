/** Recovery refuses, because continuing might lose acknowledged transactions. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
  readonly file: string

  /** `problem` and `remedy` are parts of the error message. */
  constructor(file: string, problem: string, remedy: string) {
    super(
      `${file}: ${problem}. The server does not start, because data could be lost. What to do: ${remedy}.`,
    )
    this.file = file
  }
}
