import { useEffect, useRef, useState } from 'preact/hooks'
import { generation, link } from './state.ts'

/** What a request answers, asked again now and then while the page is seen. */
export function usePolled<T>(
  ask: () => Promise<T>,
  everyMs: number,
  key: string,
): { readonly value: T | undefined; readonly error: unknown; readonly again: () => void } {
  const [value, setValue] = useState<T | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const isHere = useRef(true)
  const again = (): void => {
    ask().then(
      (found) => {
        if (!isHere.current) return
        setValue(found)
        setError(undefined)
      },
      (fault: unknown) => isHere.current && link.value !== 'lost' && setError(fault),
    )
  }
  const connection = generation.value
  useEffect(() => {
    isHere.current = true
    again()
    const timer = setInterval(() => document.visibilityState === 'visible' && again(), everyMs)
    return () => {
      isHere.current = false
      clearInterval(timer)
    }
  }, [key, connection])
  return { value, error, again }
}
