import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** An element and its width: drawings fill the room they have. */
export function useWidth<T extends HTMLElement>(least: number): [RefObject<T | null>, number] {
  const ref = useRef<T>(null)
  const [width, setWidth] = useState(least)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(least, Math.round(entry.contentRect.width)))
    })
    if (ref.current !== null) observer.observe(ref.current)
    return () => observer.disconnect()
  }, [least])
  return [ref, width]
}
