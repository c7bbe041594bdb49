/** Recovery refuses: to go on might lose something that was acknowledged. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
  readonly file: string

  /** `problem` and `remedy` are parts of the sentence the operator reads. */
  constructor(file: string, problem: string, remedy: string) {
    super(`${file}: ${problem}. The server does not start, so that nothing is lost: ${remedy}.`)
    this.file = file
  }
}
