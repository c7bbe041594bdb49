import { useEffect, useRef, useState } from 'preact/hooks'
import { generation, link } from './state.ts'

export interface Polled<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly again: () => void
}

/** What a request answers, asked again now and then while the page is seen. */
export function usePolled<T>(ask: () => Promise<T>, everyMs: number, key: string): Polled<T> {
  const [value, setValue] = useState<T | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const connection = generation.value
  /** Answers to questions of another key, or another server, come too late. */
  const current = useRef({})
  const isAsking = useRef(false)
  const again = async (): Promise<void> => {
    const asked = current.current
    isAsking.current = true
    try {
      const found = await ask()
      if (current.current !== asked) return
      setValue(found)
      setError(undefined)
    } catch (fault) {
      if (current.current === asked && link.value !== 'lost') setError(fault)
    } finally {
      if (current.current === asked) isAsking.current = false
    }
  }
  useEffect(() => {
    current.current = {}
    void again()
    const timer = setInterval(() => {
      // A slow server is not asked again before it has answered.
      if (document.visibilityState === 'visible' && !isAsking.current) void again()
    }, everyMs)
    return () => {
      current.current = {}
      clearInterval(timer)
    }
  }, [key, connection])
  return { value, error, again: () => void again() }
}
