interface Props {
  readonly values: readonly number[]
  readonly most: number
}

/** Values beside each other, as shares of the most; their numbers stand beside it as text. */
export function Bar({ values, most }: Props) {
  let at = 0
  return (
    <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      {values.map((value, series) => {
        const width = most > 0 ? (value / most) * 100 : 0
        const x = at
        at += width
        return <rect key={series} class={`fill-${series}`} x={x} width={width} y="0" height="8" />
      })}
    </svg>
  )
}
