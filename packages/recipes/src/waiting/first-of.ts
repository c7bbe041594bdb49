import { underAll } from './limits.ts'

/** Waits for the first of several promises, and stops waiting for the others. */
export function firstOf(
  signal: AbortSignal,
  waits: (signal: AbortSignal) => readonly Promise<unknown>[],
): Promise<void> {
  const over = new AbortController()
  return underAll([signal, over.signal], async (either) => {
    try {
      await Promise.race(waits(either))
    } finally {
      over.abort()
    }
  })
}
