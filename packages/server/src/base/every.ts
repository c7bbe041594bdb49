/** Node fires at once what is to come later than this. */
export const timerMsMax = 2 ** 31 - 1

/** As `setInterval`, for intervals of any length. What it returns ends it. */
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
