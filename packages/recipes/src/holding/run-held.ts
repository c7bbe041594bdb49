import { LostError, type Held } from './held.ts'

/**
 * Does work under a right, and releases it. Rejects with the error of the work. If the right was
 * lost before the work ended, rejects with a LostError even if the work succeeded, because it was
 * not protected all the time.
 */
export async function runHeld<H extends Held, T>(
  acquire: () => Promise<H>,
  work: (held: H) => Promise<T> | T,
): Promise<T> {
  await using held = await acquire()
  const result = await work(held)
  if (held.signal.aborted && held.signal.reason instanceof LostError) {
    // The work itself may have released it.
    if (held.signal.reason.reason !== 'released') throw held.signal.reason
  }
  return result
}
