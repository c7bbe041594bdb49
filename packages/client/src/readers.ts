interface Reader<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (reason: unknown) => void
}

/**
 * The reading side of an iteration with pushed values: the pending calls of `next()`, and how the
 * iteration ended. The owner keeps unread values, and decides how to merge them.
 */
export class Readers<T> {
  private readonly waiting: Reader<T>[] = []
  private failure: { readonly reason: unknown } | undefined
  private hasEnded = false

  /** Number of pending calls of `next()`. */
  get size(): number {
    return this.waiting.length
  }

  /** Gives the value to the longest pending call. Returns false if there is none. */
  offer(value: T): boolean {
    const reader = this.waiting.shift()
    reader?.resolve({ value, done: false })
    return reader !== undefined
  }

  /** The result of `next()`: the kept value, the failure, the end, or the next value. */
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

  /**
   * Ends the iteration with a failure. One call of `next()` rejects: the first pending one, or the
   * next.
   */
  fail(reason: unknown): void {
    const first = this.waiting.shift()
    if (first === undefined) this.failure = { reason }
    else first.reject(reason)
    void this.end()
  }
}
