/** Node fires longer timers immediately. */
export const timerMsMax = 2 ** 31 - 1

/** Like `setInterval`, for intervals of any length. The returned function ends it. */
export function every(intervalMs: number, work: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (leftMs: number): void => {
    timer = setTimeout(
      () => {
        if (leftMs > timerMsMax) return wait(leftMs - timerMsMax)
        wait(intervalMs)
        work()
      },
      Math.min(leftMs, timerMsMax),
    )
  }
  wait(intervalMs)
  return () => clearTimeout(timer)
}
