import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from './api.ts'
import { credentials, isSigningIn } from './state.ts'

interface Props {
  readonly title: string
  readonly onClose: () => void
  /** For what stands side by side. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog; Escape closes it, and the focus stays inside. */
export function Dialog({ title, onClose, isWide = false, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={isWide ? 'wide-dialog' : undefined}
      aria-label={title}
      onClose={onClose}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}

const deniedCodes = new Set(['noAuth', 'role', 'signIn'])

/** Why something did not work: an error, or a sentence. */
export function Problem({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? error.message : error
  if (typeof text !== 'string') return null
  const isDenied = error instanceof ApiError && deniedCodes.has(error.code)
  return (
    <p class="problem" role="alert">
      {text}
      {isDenied && credentials.value === undefined && (
        <>
          .{' '}
          <button type="button" onClick={() => (isSigningIn.value = true)}>
            Sign in
          </button>
        </>
      )}
    </p>
  )
}
