import type { Host } from '../ports.ts'
import { TimeoutError } from './timeout-error.ts'

/** A promise that somebody else keeps. */
export class Deferred<T> {
  readonly promise: Promise<T>
  resolve!: (value: T) => void
  reject!: (error: Error) => void

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Nobody may be waiting when it is rejected; whoever waits still sees it.
    this.promise.catch(() => {})
  }
}

/** The promise, or a TimeoutError that says what was waited for. */
export async function within<T>(
  host: Host,
  ms: number,
  what: string,
  promise: Promise<T>,
): Promise<T> {
  const { done, cut } = host.delay(ms)
  const late = done.then(() => {
    throw new TimeoutError(`${what} took longer than ${ms} ms`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    cut()
  }
}
