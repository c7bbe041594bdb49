import { LostError, type Held } from './held.ts'

/**
 * Does some work under a right, and gives the right back. Rejects with what the work throws; where the
 * right was lost before the work came to its end, with a LostError, whatever the work resolved to: it
 * was not protected all along.
 */
export async function runHeld<H extends Held, T>(
  acquire: () => Promise<H>,
  work: (held: H) => Promise<T> | T,
): Promise<T> {
  await using held = await acquire()
  const result = await work(held)
  if (held.signal.aborted && held.signal.reason instanceof LostError) {
    // The work itself may have given it back.
    if (held.signal.reason.reason !== 'released') throw held.signal.reason
  }
  return result
}
