import { setTimeout as delay } from 'node:timers/promises'

/** Polls until a condition holds. The complaint is the error if it does not hold in time. */
export async function until(
  complaint: string,
  timeoutMs: number,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${complaint}, after ${timeoutMs} ms`)
    await delay(20)
  }
}

/** Repeats an attempt until it succeeds or the time is up; then throws the last error. */
export async function untilDone<T>(timeoutMs: number, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(200)
    }
  }
}
