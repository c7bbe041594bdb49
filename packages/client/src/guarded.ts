import type { Host } from './host.ts'

/**
 * Calls a function of the program. If it throws, the error surfaces as an uncaught exception, and
 * the client continues.
 */
export function guarded(host: Host, act: () => void): void {
  try {
    act()
  } catch (error) {
    throwLater(host, error)
  }
}

/** Throws an error of the program where only the program's own handlers catch it. */
export function throwLater(host: Host, error: unknown): void {
  host.defer(() => {
    throw error
  })
}
