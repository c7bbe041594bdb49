import type { Host } from './host.ts'

/**
 * Calls a function of the program. An error that it throws is the program's own: it surfaces as an
 * uncaught exception and does not stop what runs here.
 */
export function guarded(host: Host, act: () => void): void {
  try {
    act()
  } catch (error) {
    throwLater(host, error)
  }
}

/** Throws an error of the program where nothing but the program's own handlers catches it. */
export function throwLater(host: Host, error: unknown): void {
  host.defer(() => {
    throw error
  })
}
