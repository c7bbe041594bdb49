/** A broken invariant: a bug in zabra, never the fault of a client or of the environment. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Throws an AssertionError if the condition is false; the sentence says what must hold. */
export function assert(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new AssertionError(sentence)
}
