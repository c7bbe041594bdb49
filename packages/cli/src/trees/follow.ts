import type { Client } from '@zabra/client'

/** Changes that come within this time are dealt with together. */
const gatherMs = 200

/**
 * Calls `act` at once, and again after changes below `top`, until the signal aborts or `act`
 * resolves to false. A change that comes while `act` runs is followed by another call.
 */
export async function follow(
  client: Client,
  top: string,
  signal: AbortSignal,
  act: () => Promise<boolean>,
): Promise<void> {
  const watching = client.watch(top, { recursive: true, renew: true, signal })
  let wake: () => void = () => {}
  let hasChanged = true
  let isOver = false
  const reading = (async () => {
    try {
      for await (const _ of watching) {
        hasChanged = true
        wake()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      isOver = true
      wake()
    }
  })()
  reading.catch(() => {})
  const over = (): boolean => isOver || signal.aborted
  try {
    await watching.ready
    while (!over()) {
      if (!hasChanged) {
        await new Promise<void>((resolve) => (wake = resolve))
        // More changes often come behind the first one.
        if (!over()) await new Promise((resolve) => setTimeout(resolve, gatherMs))
        continue
      }
      hasChanged = false
      if (!(await act())) return
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await watching.return()
  }
  await reading
}
