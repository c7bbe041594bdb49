import { useMemo } from 'preact/hooks'
import { tokensOf, type Form } from './content.ts'
import { Tokens } from './tokens.tsx'

interface Props {
  readonly label: string
  readonly text: string
  readonly form: Form
  readonly onInput: (text: string) => void
}

/** In longer texts colors and line numbers would make typing slow. */
const plainMin = 100_000

/**
 * A text field with line numbers and colors: the colored text lies below the field, whose own text is
 * transparent, so that selection, undo, search and spelling aids stay those of the browser.
 */
export function CodeArea({ label, text, form, onInput }: Props) {
  if (text.length > plainMin) {
    return <textarea class="plain" rows={24} wrap="off" {...fieldOf({ label, text, onInput })} />
  }
  return <Colored label={label} text={text} form={form} onInput={onInput} />
}

function Colored({ label, text, form, onInput }: Props) {
  const lines = useMemo(() => text.split('\n').length, [text])
  const numbers = useMemo(
    () => Array.from({ length: lines }, (_, at) => at + 1).join('\n'),
    [lines],
  )
  return (
    <div class="code-area">
      <pre class="gutter" aria-hidden="true">
        {numbers}
      </pre>
      <div class="code">
        <pre aria-hidden="true">
          <Tokens tokens={tokensOf(text, form)} />
          {'\n'}
        </pre>
        <textarea wrap="off" {...fieldOf({ label, text, onInput })} />
      </div>
    </div>
  )
}

const fieldOf = ({ label, text, onInput }: Omit<Props, 'form'>) => ({
  'aria-label': label,
  spellcheck: false,
  autocomplete: 'off' as const,
  value: text,
  onInput: ({ currentTarget }: { readonly currentTarget: HTMLTextAreaElement }) =>
    onInput(currentTarget.value),
  onKeyDown: onKey,
})

function onKey(event: KeyboardEvent): void {
  const field = event.currentTarget
  if (!(field instanceof HTMLTextAreaElement)) return
  if ((event.ctrlKey || event.metaKey) && event.key === 's') {
    event.preventDefault()
    field.form?.requestSubmit()
  } else if (event.key === 'Enter' && !event.isComposing) {
    // A new line is as far in as the one before it.
    const before = field.value.slice(0, field.selectionStart)
    const indent = /(?:^|\n)([ \t]*)[^\n]*$/.exec(before)?.[1] ?? ''
    if (indent === '') return
    event.preventDefault()
    // Unlike a change of the value, this can be undone.
    document.execCommand('insertText', false, `\n${indent}`)
  }
}
