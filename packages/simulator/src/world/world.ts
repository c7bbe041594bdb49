import { Random } from './random.ts'

interface Event {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

/** A hundred times what a run comes to: beyond it, each is the reason for the next. */
const eventsMax = 3_000_000

/** To call off something that was scheduled. */
export interface Timer {
  cancel(): void
}

/**
 * Virtual time: events one after the other, and nothing else moves the clock.
 *
 * The storage code of the core awaits promises. In here every promise is settled by an event or
 * by other promises, never by real I/O, so after each event the microtasks run dry before the
 * next one starts: a tick of the host begins only when they have. The order is that of the
 * language, the same in every run.
 */
export class World {
  readonly random: Random
  nowMs = 0
  events = 0
  private readonly heap: Event[] = []
  private order = 0
  private readonly afterMicrotasks: (next: () => void) => void

  constructor(random: Random, wait: (next: () => void) => void = afterMicrotasks) {
    this.random = random
    this.afterMicrotasks = wait
  }

  after(delayMs: number, run: () => void): Timer {
    const event = { atMs: this.nowMs + delayMs, order: this.order++, run, isCancelled: false }
    this.push(event)
    return {
      cancel: () => {
        event.isCancelled = true
      },
    }
  }

  /** Resolves after so much virtual time. */
  pass(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve))
  }

  /** More happens than can come to an end. */
  get isStorm(): boolean {
    return this.events > eventsMax
  }

  /** Lives on until the time has come, `isDone` says so, or nothing is left to happen. */
  runUntil(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          const event = isDone() || this.isStorm ? undefined : this.takeNext(untilMs)
          if (event !== undefined) {
            this.nowMs = event.atMs
            this.events++
            event.run()
            this.afterMicrotasks(step)
            return
          }
          if (!isDone()) this.nowMs = Math.max(this.nowMs, untilMs)
          resolve()
        } catch (error) {
          reject(error as Error)
        }
      }
      this.afterMicrotasks(step)
    })
  }

  /** The next event that was not called off, unless it is later than that. */
  private takeNext(untilMs: number): Event | undefined {
    for (let next = this.heap[0]; next !== undefined && next.atMs <= untilMs; next = this.heap[0]) {
      this.pop()
      if (!next.isCancelled) return next
    }
    return undefined
  }

  private push(event: Event): void {
    const { heap } = this
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}

const settled = Promise.resolve()

/**
 * Runs when every microtask has run, also those that microtasks made: the host begins a tick that
 * a microtask asked for only then.
 */
const afterMicrotasks = (next: () => void): void => void settled.then(() => process.nextTick(next))

/** As above; what was put off with `process.nextTick`, and rejections, have been dealt with too. */
export const afterMacrotask = (next: () => void): void => void setImmediate(next)
