/** Where a checker says what it found. */
export type Report = (violation: string) => void
