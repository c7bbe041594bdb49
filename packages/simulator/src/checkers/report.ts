/** A checker calls this with each violation that it finds. */
export type Report = (violation: string) => void
