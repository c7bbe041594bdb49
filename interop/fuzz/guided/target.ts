/** Something that takes bytes from strangers. */
export interface Target {
  readonly name: string
  /** Sound inputs to begin with. */
  readonly seeds: () => Uint8Array[] | Promise<Uint8Array[]>
  /** Throws, or rejects, only if the program has a fault. */
  readonly run: (input: Uint8Array) => void | Promise<void>
}

/** Runs code that may refuse its input by errors of these classes, and by no others. */
export function mayRefuse(
  refusals: readonly (new (...args: never[]) => Error)[],
  work: () => void,
): void {
  try {
    work()
  } catch (error) {
    if (!refusals.some((refusal) => error instanceof refusal)) throw error
  }
}
