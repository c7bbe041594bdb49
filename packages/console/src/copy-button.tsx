import { useEffect, useState } from 'preact/hooks'
import { announcement } from './state.ts'

const saidMs = 2000

interface Props {
  readonly text: string
  /** Names the copied text, for screen readers. */
  readonly label: string
}

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, label }: Props) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), saidMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const start = async (): Promise<void> => {
    if (!(await copy(text))) return
    announcement.value = `${text} is copied`
    setCopied(true)
  }
  return (
    <button
      type="button"
      aria-label={isCopied ? 'Copied' : label}
      title={label}
      onClick={() => void start()}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

async function copy(text: string): Promise<boolean> {
  // Browsers have a clipboard only for pages over HTTPS and of the own machine.
  if (!isSecureContext) return copySelected(text)
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copySelected(text),
  )
}

/** The way of old, which needs a selection. */
function copySelected(text: string): boolean {
  const area = document.createElement('textarea')
  area.className = 'hidden'
  area.value = text
  document.body.append(area)
  area.select()
  // oxlint-disable-next-line typescript/no-deprecated -- there is no other way without HTTPS
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}
