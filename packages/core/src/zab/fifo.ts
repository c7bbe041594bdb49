/** Once so much of the array is behind us, it is shortened. */
const usedMax = 1024

/**
 * First in, first out, at the same cost however long it is: to drop the first element of an array
 * moves all others, which takes minutes where a history of some hundred thousand is taken over.
 */
export class Fifo<T> {
  private items: T[] = []
  private used = 0

  get length(): number {
    return this.items.length - this.used
  }

  get first(): T | undefined {
    return this.items[this.used]
  }

  get last(): T | undefined {
    return this.length === 0 ? undefined : this.items.at(-1)
  }

  push(item: T): void {
    this.items.push(item)
  }

  shift(): void {
    if (this.length === 0) return
    this.used++
    if (this.used < usedMax || this.used < this.items.length / 2) return
    this.items = this.items.slice(this.used)
    this.used = 0
  }

  /** Oldest first. */
  all(): T[] {
    return this.items.slice(this.used)
  }
}
