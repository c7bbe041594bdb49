import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'

const starts = new Set<() => void>()
let isEager = false

/** Loads all parts while the server of the page is there: another member goes on without its files. */
export function loadAll(): void {
  isEager = true
  for (const start of starts) start()
}

/** A part of the page whose code is loaded when it is shown first. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | undefined>(undefined)
  const hasFailed = signal(false)
  const start = (): void => {
    if (loaded.value !== undefined) return
    hasFailed.value = false
    load().then(
      (part) => (loaded.value = part),
      () => (hasFailed.value = true),
    )
  }
  starts.add(start)
  if (isEager) start()
  return function Lazy(props: Props) {
    useEffect(() => {
      start()
    }, [])
    const Part = loaded.value
    if (Part !== undefined) return <Part {...props} />
    if (!hasFailed.value) return <p class="loading muted">Loading</p>
    return (
      <p class="problem" role="alert">
        This part of the page could not be loaded: the server is away, or has another version now.{' '}
        <button type="button" onClick={start}>
          Try again
        </button>{' '}
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </p>
    )
  }
}
