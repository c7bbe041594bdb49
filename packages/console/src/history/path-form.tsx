import { useEffect, useState } from 'preact/hooks'

interface Props {
  readonly label: string
  readonly path: string
  readonly onChange: (path: string) => void
}

/** The path of a znode, typed. */
export function PathForm({ label, path, onChange }: Props) {
  const [text, setText] = useState(path)
  useEffect(() => setText(path), [path])
  return (
    <label class="wide-field">
      {label}
      <input
        value={text}
        pattern="/.*"
        title="A path begins with /"
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => {
          const typed = text.trim().replace(/(.)\/+$/, '$1')
          if (event.currentTarget.checkValidity() && typed !== '') onChange(typed)
        }}
      />
    </label>
  )
}
