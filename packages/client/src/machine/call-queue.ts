import type { Call } from './call.ts'

const firstCapacity = 16

/** A first-in first-out queue in a ring buffer that doubles. */
export class CallQueue {
  private readonly isOver: (call: Call) => boolean
  private ring: (Call | undefined)[] = Array.from({ length: firstCapacity })
  private head = 0
  private count = 0

  /**
   * Calls that are over are dropped when the buffer is full, so that they do not pile up if nothing
   * takes calls out for a long time.
   */
  constructor(isOver: (call: Call) => boolean = () => false) {
    this.isOver = isOver
  }

  get length(): number {
    return this.count
  }

  push(call: Call): void {
    if (this.count === this.ring.length) this.makeRoom()
    this.ring[(this.head + this.count) & (this.ring.length - 1)] = call
    this.count++
  }

  peek(): Call | undefined {
    return this.count === 0 ? undefined : this.ring[this.head]
  }

  shift(): Call | undefined {
    if (this.count === 0) return undefined
    const call = this.ring[this.head]
    this.ring[this.head] = undefined
    this.head = (this.head + 1) & (this.ring.length - 1)
    this.count--
    return call
  }

  some(isSo: (call: Call) => boolean): boolean {
    for (let i = 0; i < this.count; i++)
      if (isSo(this.ring[(this.head + i) & (this.ring.length - 1)]!)) return true
    return false
  }

  forEach(act: (call: Call) => void): void {
    for (let i = 0; i < this.count; i++) act(this.ring[(this.head + i) & (this.ring.length - 1)]!)
  }

  /** Empties the queue. */
  takeAll(): Call[] {
    const calls: Call[] = []
    for (let call = this.shift(); call !== undefined; call = this.shift()) calls.push(call)
    this.ring = Array.from({ length: firstCapacity })
    this.head = 0
    return calls
  }

  private makeRoom(): void {
    const kept: Call[] = []
    this.forEach((call) => {
      if (!this.isOver(call)) kept.push(call)
    })
    const { length } = this.ring
    // Half empty at least: otherwise the next calls would look through the queue again.
    const larger: (Call | undefined)[] = Array.from({
      length: kept.length * 2 > length ? length * 2 : length,
    })
    for (const [i, call] of kept.entries()) larger[i] = call
    this.ring = larger
    this.head = 0
    this.count = kept.length
  }
}
