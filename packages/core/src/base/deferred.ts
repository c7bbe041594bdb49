import type { Host } from '../ports.ts'
import { TimeoutError } from './timeout-error.ts'

/** A promise with its resolve and reject methods exposed. */
export class Deferred<T> {
  readonly promise: Promise<T>
  resolve!: (value: T) => void
  reject!: (error: Error) => void

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Avoids an unhandled rejection if nobody waits; those who wait still see it.
    this.promise.catch(() => {})
  }
}

/** Awaits the promise; throws a TimeoutError that says what was awaited. */
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
