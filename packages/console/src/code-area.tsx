import { useMemo } from 'preact/hooks'
import { tokensOf, type Form } from './content.ts'
import { Tokens } from './tokens.tsx'

interface Props {
  readonly label: string
  readonly text: string
  readonly form: Form
  readonly onInput: (text: string) => void
}

/** In longer texts the colors would make typing slow. */
const coloredMax = 100_000

/**
 * A text field with line numbers and colors: the colored text lies below the field, whose own text is
 * transparent, so that selection, undo, search and spelling aids stay those of the browser.
 */
export function CodeArea({ label, text, form, onInput }: Props) {
  const isColored = text.length <= coloredMax
  const lines = useMemo(() => text.split('\n').length, [text])
  const numbers = useMemo(
    () => Array.from({ length: lines }, (_, at) => at + 1).join('\n'),
    [lines],
  )
  return (
    <div class={isColored ? 'code-area colored' : 'code-area'}>
      <pre class="gutter" aria-hidden="true">
        {numbers}
      </pre>
      <div class="code">
        <pre aria-hidden="true">
          {isColored ? <Tokens tokens={tokensOf(text, form)} /> : text}
          {'\n'}
        </pre>
        <textarea
          aria-label={label}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={onKey}
        />
      </div>
    </div>
  )
}

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
