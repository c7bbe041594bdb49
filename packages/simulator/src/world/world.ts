import { Random } from './random.ts'

interface Event {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

/** A hundred times the events of a normal run: with more, events only cause each other. */
const eventsMax = 3_000_000

/** Cancels a scheduled event. */
export interface Timer {
  cancel(): void
}

/**
 * Virtual time: events happen one after the other, and nothing else moves the clock.
 *
 * The storage code of the core awaits promises. In the simulation every promise is settled by an
 * event or by other promises, never by real I/O. So after each event all microtasks run before the
 * next event: the host's event loop continues only when there are none left. Their order is defined
 * by the language, and the same in every run.
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

  /** Resolves after this much virtual time. */
  pass(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve))
  }

  /** Whether there are more events than a run can have. */
  get isStorm(): boolean {
    return this.events > eventsMax
  }

  /** Runs until the given time, until `isDone` returns true, or until there are no events. */
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

  /** The next event that was not cancelled, unless it is later than `untilMs`. */
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
 * Runs `next` when every microtask has run, including those that microtasks add: a
 * `process.nextTick` callback that a microtask adds runs only then.
 */
const afterMicrotasks = (next: () => void): void => void settled.then(() => process.nextTick(next))

/** The same; `process.nextTick` callbacks and unhandled rejections have also been processed. */
export const afterMacrotask = (next: () => void): void => void setImmediate(next)
