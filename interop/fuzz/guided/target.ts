/** Code that reads untrusted bytes. */
export interface Target {
  readonly name: string
  /** Valid inputs to begin with. */
  readonly seeds: () => Uint8Array[] | Promise<Uint8Array[]>
  /** Throws or rejects only if the program has a fault. */
  readonly run: (input: Uint8Array) => void | Promise<void>
}

/** Runs code that may refuse its input with errors of these classes only. */
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
