/** The number of slots that stay allocated while the queue is empty. */
const slotsKept = 4096
const slotsMin = 16

/**
 * A queue: first in, first out, at constant cost. It is a ring, because removing the first element
 * of an array moves all others. A removed element is no longer referenced, so that the garbage
 * collector can free it.
 */
export class Fifo<T> {
  length = 0
  private slots: (T | undefined)[] = []
  private start = 0

  get first(): T | undefined {
    return this.length === 0 ? undefined : this.slots[this.start]
  }

  get last(): T | undefined {
    return this.at(this.length - 1)
  }

  /** The nth element, counted from 0; undefined if there are fewer. */
  at(n: number): T | undefined {
    if (n < 0 || n >= this.length) return undefined
    return this.slots[(this.start + n) & (this.slots.length - 1)]
  }

  push(item: T): void {
    if (this.length === this.slots.length) this.grow()
    this.slots[(this.start + this.length++) & (this.slots.length - 1)] = item
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const { slots, start } = this
    const item = slots[start]
    slots[start] = undefined
    this.start = (start + 1) & (slots.length - 1)
    if (--this.length === 0 && slots.length > slotsKept) this.clear()
    return item
  }

  /** Removes and returns the newest element. */
  pop(): T | undefined {
    if (this.length === 0) return undefined
    const at = (this.start + --this.length) & (this.slots.length - 1)
    const item = this.slots[at]
    this.slots[at] = undefined
    return item
  }

  clear(): void {
    this.slots = []
    this.start = this.length = 0
  }

  /** All elements, oldest first. */
  all(): T[] {
    const items: T[] = []
    for (let n = 0; n < this.length; n++) items.push(this.at(n)!)
    return items
  }

  /** The size is always a power of two, so that wrapping around is a mask. */
  private grow(): void {
    const items: (T | undefined)[] = this.all()
    const slots = Math.max(slotsMin, 2 * items.length)
    while (items.length < slots) items.push(undefined)
    this.slots = items
    this.start = 0
  }
}
