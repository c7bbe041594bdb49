/** Slots that are kept when nothing is in them. */
const slotsKept = 4096
const slotsMin = 16

/**
 * First in, first out, at the same cost however long it is: a ring, since dropping the first
 * element of an array moves all others. What has left is not referred to any more: garbage that
 * an old list still names is garbage that must be carried along.
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

  /** The nth, the first being 0; undefined where there are not so many. */
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

  /** Takes back the last. */
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

  /** Oldest first. */
  all(): T[] {
    const items: T[] = []
    for (let n = 0; n < this.length; n++) items.push(this.at(n)!)
    return items
  }

  /** Always a power of two, so that going round is a mask. */
  private grow(): void {
    const items: (T | undefined)[] = this.all()
    const slots = Math.max(slotsMin, 2 * items.length)
    while (items.length < slots) items.push(undefined)
    this.slots = items
    this.start = 0
  }
}
