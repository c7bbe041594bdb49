interface Reader<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (reason: unknown) => void
}

/**
 * The reading side of an iteration whose values are pushed: the calls of `next()` that wait, and how
 * the iteration ended. What nobody waits for is kept by the owner, who decides how to merge it.
 */
export class Readers<T> {
  private readonly waiting: Reader<T>[] = []
  private failure: { readonly reason: unknown } | undefined
  private hasEnded = false

  /** Number of calls of `next()` that wait for a value. */
  get size(): number {
    return this.waiting.length
  }

  /** Gives the value to the call that has waited longest. Returns false if none waits. */
  offer(value: T): boolean {
    const reader = this.waiting.shift()
    reader?.resolve({ value, done: false })
    return reader !== undefined
  }

  /** The result of `next()`: the value that was kept, the failure, the end, or the next value. */
  next(kept: { readonly value: T } | undefined): Promise<IteratorResult<T, undefined>> {
    if (kept !== undefined) return Promise.resolve({ value: kept.value, done: false })
    const { failure } = this
    if (failure !== undefined) {
      this.failure = undefined
      return Promise.reject(failure.reason)
    }
    if (this.hasEnded) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }))
  }

  /** Ends the iteration. Returns the result of `return()`. */
  end(): Promise<IteratorResult<T, undefined>> {
    this.hasEnded = true
    for (const { resolve } of this.waiting.splice(0)) resolve({ value: undefined, done: true })
    return Promise.resolve({ value: undefined, done: true })
  }

  /** Ends the iteration with a failure. One call of `next()` rejects: the first that waits, or the next. */
  fail(reason: unknown): void {
    const first = this.waiting.shift()
    if (first === undefined) this.failure = { reason }
    else first.reject(reason)
    void this.end()
  }
}
