import type { Token } from './content.ts'

/** Text in colors. */
export function Tokens({ tokens }: { readonly tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map(({ text, kind }, at) =>
        kind === '' ? (
          text
        ) : (
          <span key={at} class={`t-${kind}`}>
            {text}
          </span>
        ),
      )}
    </>
  )
}
