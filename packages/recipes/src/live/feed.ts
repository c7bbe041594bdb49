import { Readers } from '@zabra/client/internal'

/**
 * An iteration over pushed values. A slow reader does not make it grow: unread values are merged
 * into one.
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

  /** Ends it; pending readers get the end. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.end()
    return this.readers.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Fails it; pending readers, or the next one, get the error. */
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
