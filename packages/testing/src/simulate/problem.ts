/** A violation in a run. */
export interface Problem {
  readonly kind: 'check' | 'program' | 'unfinished' | 'zabra'
  /** The name of the check or of the program. */
  readonly name: string
  readonly message: string
  readonly cause?: unknown
}

/** Whether two runs failed in the same way. */
export function isSame(a: Problem, b: Problem): boolean {
  return a.kind === b.kind && (a.kind !== 'check' || a.name === b.name)
}

/** An error with the part of its stack that belongs to the program. */
export function tell(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
