import { useEffect, useId, useState } from 'preact/hooks'
import { serverNowMs } from '../clock.ts'
import { pointIn, pointText } from './points.ts'

interface Props {
  readonly label: string
  readonly value: string | undefined
  readonly placeholder: string
  /** With undefined where the field is empty. */
  readonly onChange: (point: string | undefined) => void
}

/** A zxid or a time, typed. */
export function PointField({ label, value, placeholder, onChange }: Props) {
  const [text, setText] = useState('')
  const help = useId()
  useEffect(() => setText(value === undefined ? '' : pointText(value)), [value])
  const point = text.trim() === '' ? undefined : pointIn(text, serverNowMs())
  const isWrong = text.trim() !== '' && point === undefined
  const submit = (): void => {
    if (!isWrong && point !== value) onChange(point)
  }
  return (
    <div class="field">
      <label>
        {label}
        <input
          value={text}
          placeholder={placeholder}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? help : undefined}
          title="A zxid (0x…), a time (UTC) such as 2026-01-31 08:15 or 08:15, or how long ago, such as 10 min"
          onInput={(event) => setText(event.currentTarget.value)}
          onChange={submit}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            submit()
          }}
        />
      </label>
      {isWrong && (
        <small id={help} class="warning">
          0x…, 2026-01-31 08:15, 08:15 or 10 min
        </small>
      )}
    </div>
  )
}
