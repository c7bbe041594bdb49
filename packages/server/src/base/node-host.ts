import type { Host } from '@zabra/core'

/** Time and randomness, from Node. */
export const nodeHost: Host = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  random: () => Math.random(),
  delay(ms) {
    let cut!: () => void
    const done = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      cut = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    return { done, cut }
  },
}
