import type { Sample } from './api.ts'
import { countText } from './format.ts'

interface Props {
  readonly title: string
  readonly unit: string
  readonly samples: readonly Sample[]
  readonly of: readonly (readonly [name: string, key: keyof Sample])[]
}

const width = 320
const height = 96

/** A number over the last hour, newest at the right. */
export function Chart({ title, unit, samples, of }: Props) {
  const newest = samples.at(-1)
  const highest = Math.max(1, ...of.flatMap(([, key]) => samples.map((sample) => sample[key])))
  const from = samples[0]?.time ?? 0
  const span = Math.max(1, (newest?.time ?? 0) - from)
  const pointsOf = (key: keyof Sample): string =>
    samples
      .map(({ time, ...rest }) => {
        const value = { time, ...rest }[key]
        const x = ((time - from) / span) * width
        return `${x.toFixed(1)},${(height - (value / highest) * (height - 6)).toFixed(1)}`
      })
      .join(' ')
  const now = of
    .map(([name, key]) => {
      const value = newest === undefined ? '–' : countText(newest[key])
      return of.length > 1 ? `${name} ${value} ${unit}` : `${value} ${unit}`
    })
    .join(', ')
  return (
    <figure>
      <figcaption>
        <strong>{title}</strong> <span>{now}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${now} now, ${countText(highest)} ${unit} at most`}
      >
        {of.map(([name, key], at) => (
          <polyline key={name} class={`series-${at}`} points={pointsOf(key)} />
        ))}
      </svg>
      <div class="axis muted">
        <span>
          {samples.length < 2 ? 'collecting' : `${Math.max(1, Math.round(span / 60_000))} min ago`}
        </span>
        <span>
          most {countText(highest)} {unit}
        </span>
        <span>now</span>
      </div>
    </figure>
  )
}
