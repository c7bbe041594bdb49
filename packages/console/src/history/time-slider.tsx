import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../api.ts'
import { countOf } from '../format.ts'
import { zoomed, type Span } from './timeline.ts'

const bins = 120
const height = 44
/** While the slider moves, the tree follows a few times a second. */
const followMs = 250

const scales = [
  ['All', Infinity],
  ['7 days', 7 * 86_400_000],
  ['24 h', 86_400_000],
  ['1 h', 3_600_000],
  ['5 min', 300_000],
] as const

interface Props {
  readonly span: Span
  readonly atMs: number
  readonly onChange: (timeMs: number) => void
}

/** Time from left to right, with the changes above it. */
export function TimeSlider({ span, atMs, onChange }: Props) {
  const [scale, setScale] = useState(Infinity)
  const [dragged, setDragged] = useState<number | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(() => setDragged(undefined), [atMs])
  // The part that is shown moves when the slider is let go, not while it is held.
  const part = useMemo(() => zoomed(span, scale, atMs), [span, scale, atMs])
  const density = useDensity(part)
  const counts = density?.counts ?? []
  const most = Math.max(1, ...counts)
  const value = Math.min(part.toMs, Math.max(part.fromMs, dragged ?? atMs))
  const length = Math.max(1, part.toMs - part.fromMs)
  const text = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19)
  const step = Math.max(1, Math.floor(length / 1000))
  const move = (at: number, isEnd: boolean): void => {
    // The last step is the end, which need not be a whole number of steps away.
    const ms = at > part.toMs - step ? part.toMs : at
    setDragged(ms)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onChange(ms), isEnd ? 0 : followMs)
  }
  return (
    <div class="time-slider">
      <svg viewBox={`0 0 ${bins} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {counts.map((count, at) => {
          // By the root: a burst must not hide what happens at all other times.
          const size = count === 0 ? 0 : Math.max(3, Math.sqrt(count / most) * (height - 4))
          return (
            <rect key={at} class="bar" x={at + 0.12} y={height - size} width="0.76" height={size} />
          )
        })}
        <line
          x1={((value - part.fromMs) / length) * bins}
          x2={((value - part.fromMs) / length) * bins}
          y1="0"
          y2={height}
        />
      </svg>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={`${text(value)} UTC`}
        min={part.fromMs}
        max={part.toMs}
        step={step}
        value={value}
        onInput={(event) => move(Number(event.currentTarget.value), false)}
        onChange={(event) => move(Number(event.currentTarget.value), true)}
      />
      <div class="axis muted">
        <span>{text(part.fromMs)}</span>
        <output>{text(value)} UTC</output>
        <span>{text(part.toMs)}</span>
      </div>
      <div class="line">
        <span class="line" role="group" aria-label="Scale">
          {scales.map(([name, ms]) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={scale === ms}
              disabled={ms !== Infinity && span.toMs - span.fromMs <= ms}
              onClick={() => setScale(ms)}
            >
              {name}
            </button>
          ))}
        </span>
        <span class="grow muted">
          {density !== undefined && countOf(density.total, 'transaction')}
        </span>
      </div>
    </div>
  )
}

interface Density {
  readonly total: number
  readonly counts: readonly number[]
}

/** How many transactions there were in each part of a span; undefined until that is known. */
function useDensity({ fromMs, toMs }: Span): Density | undefined {
  const [found, setFound] = useState<Density | undefined>(undefined)
  useEffect(() => {
    let isHere = true
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
    get<Density>('/history/density', { from, to, bins }).then(
      (density) => isHere && setFound(density),
      // The slider works without what is drawn above it.
      () => isHere && setFound(undefined),
    )
    return () => void (isHere = false)
  }, [fromMs, toMs])
  return found
}
