import { Readers } from '@zabra/client/internal'

/**
 * An iteration over what is pushed. A slow reader does not make it grow: what comes before it asks
 * again is merged into one.
 */
export class Feed<T> implements AsyncIterableIterator<T, undefined>, AsyncDisposable {
  private readonly merge: (before: T, next: T) => T
  private readonly onEnd: (feed: Feed<T>) => void
  private readonly readers = new Readers<T>()
  private waiting: { readonly value: T } | undefined
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
    if (this.readers.offer(value)) return
    const { waiting } = this
    this.waiting = { value: waiting === undefined ? value : this.merge(waiting.value, value) }
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const { waiting } = this
    this.waiting = undefined
    return this.readers.next(waiting)
  }

  /** Ends it; whoever waits is told that there is no more. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.end()
    return this.readers.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Ends it; the next to ask, or whoever waits, is told why. */
  fail(reason: unknown): void {
    if (this.isOver) return
    this.end()
    this.readers.fail(reason)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.onEnd(this)
  }
}
