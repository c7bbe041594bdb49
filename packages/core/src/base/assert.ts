/** A broken invariant: a bug, never a fault of a client or of the world. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Stops everything when what must hold does not; the sentence says what must hold. */
export function assert(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new AssertionError(sentence)
}
