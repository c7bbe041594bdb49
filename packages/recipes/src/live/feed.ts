interface Reader<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (reason: unknown) => void
}

/**
 * An iteration over what is pushed. A slow reader does not make it grow: what comes before it asks
 * again is merged into one.
 */
export class Feed<T> implements AsyncIterableIterator<T, undefined>, AsyncDisposable {
  private readonly merge: (before: T, next: T) => T
  private readonly onEnd: (feed: Feed<T>) => void
  private readonly readers: Reader<T>[] = []
  private waiting: { readonly value: T } | undefined
  private failure: { readonly reason: unknown } | undefined
  private isOver = false

  constructor(merge: (before: T, next: T) => T, onEnd: (feed: Feed<T>) => void) {
    this.merge = merge
    this.onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  push(value: T): void {
    if (this.isOver) return
    const reader = this.readers.shift()
    if (reader !== undefined) reader.resolve({ value, done: false })
    else if (this.waiting === undefined) this.waiting = { value }
    else this.waiting = { value: this.merge(this.waiting.value, value) }
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const { waiting, failure } = this
    if (waiting !== undefined) {
      this.waiting = undefined
      return Promise.resolve({ value: waiting.value, done: false })
    }
    if (failure !== undefined) {
      this.failure = undefined
      return Promise.reject(failure.reason)
    }
    if (this.isOver) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve, reject) => this.readers.push({ resolve, reject }))
  }

  /** Ends it; whoever waits is told that there is no more. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.end()
    for (const { resolve } of this.readers.splice(0)) resolve({ value: undefined, done: true })
    return Promise.resolve({ value: undefined, done: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Ends it; the next to ask, or whoever waits, is told why. */
  fail(reason: unknown): void {
    if (this.isOver) return
    this.end()
    const [first, ...others] = this.readers.splice(0)
    if (first === undefined) this.failure = { reason }
    else first.reject(reason)
    for (const { resolve } of others) resolve({ value: undefined, done: true })
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.onEnd(this)
  }
}
