import { useEffect, useRef, useState } from 'preact/hooks'
import { generation, link } from './state.ts'

/**
 * Does something at once, and again and again while the page is seen; from the beginning for another
 * key or another connection. Results of what began before that come too late: `isCurrent` is false.
 */
export function useRepeated(
  work: (isCurrent: () => boolean) => Promise<void>,
  everyMs: number,
  key: string,
): () => void {
  const connection = generation.value
  const latest = useRef(work)
  latest.current = work
  const start = useRef(() => {})
  useEffect(() => {
    let isHere = true
    let running = 0
    const run = async (): Promise<void> => {
      running++
      await latest.current(() => isHere)
      running--
    }
    // A slow server is not asked again before it has answered.
    const runIfSeen = (): void => {
      if (document.visibilityState === 'visible' && running === 0) void run()
    }
    start.current = () => void run()
    void run()
    const timer = setInterval(runIfSeen, everyMs)
    document.addEventListener('visibilitychange', runIfSeen)
    return () => {
      isHere = false
      clearInterval(timer)
      document.removeEventListener('visibilitychange', runIfSeen)
    }
  }, [key, connection])
  return () => start.current()
}

export interface Polled<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly again: () => void
}

/** The answer to a request, which is repeated now and then. */
export function usePolled<T>(ask: () => Promise<T>, everyMs: number, key: string): Polled<T> {
  const [value, setValue] = useState<T | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const again = useRepeated(
    async (isCurrent) => {
      try {
        const found = await ask()
        if (!isCurrent()) return
        setValue(found)
        setError(undefined)
      } catch (fault) {
        if (isCurrent() && link.value !== 'lost') setError(fault)
      }
    },
    everyMs,
    key,
  )
  return { value, error, again }
}
