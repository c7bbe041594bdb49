/** Something that a run must not do. */
export interface Problem {
  readonly kind: 'check' | 'program' | 'unfinished' | 'zabra'
  /** Of the check, or of the program. */
  readonly name: string
  readonly message: string
  readonly cause?: unknown
}

/** The same thing went wrong, in another run. */
export function isSame(a: Problem, b: Problem): boolean {
  return a.kind === b.kind && (a.kind !== 'check' || a.name === b.name)
}

/** An error with its stack, as far as it is the program's. */
export function tell(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
