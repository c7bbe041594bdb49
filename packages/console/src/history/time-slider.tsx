import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get } from '../api.ts'
import { countText } from '../format.ts'
import type { ChangePage } from './change.ts'
import { countsIn, zoomed, type Span } from './timeline.ts'

const bins = 120
const height = 44
const changesMax = 1000
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
  const { times, isPartial } = useChangeTimes(part)
  const counts = useMemo(() => countsIn(times, part, bins), [times, part])
  const most = Math.max(1, ...counts)
  const value = Math.min(part.toMs, Math.max(part.fromMs, dragged ?? atMs))
  const length = Math.max(1, part.toMs - part.fromMs)
  const firstMs = Math.min(...times, part.toMs)
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
        {isPartial && (
          <rect
            class="unknown"
            x="0"
            y="0"
            width={((firstMs - part.fromMs) / length) * bins}
            height={height}
          />
        )}
        {counts.map((count, at) => {
          const size = count === 0 ? 0 : Math.max(3, (count / most) * (height - 4))
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
          {isPartial
            ? `The last ${countText(times.length)} changes of this time are drawn; there are more before them.`
            : `${countText(times.length)} changes`}
        </span>
      </div>
    </div>
  )
}

/** The times of the changes of a span: the last ones, if there are many. */
function useChangeTimes({ fromMs, toMs }: Span): {
  readonly times: readonly number[]
  readonly isPartial: boolean
} {
  const [found, setFound] = useState<{ times: readonly number[]; isPartial: boolean }>({
    times: [],
    isPartial: false,
  })
  useEffect(() => {
    let isHere = true
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
    const query = { path: '/', from, to, limit: changesMax }
    get<ChangePage>('/history/changes', query).then(
      ({ changes, next }) => {
        if (!isHere) return
        setFound({ times: changes.map(({ time }) => Date.parse(time)), isPartial: next !== null })
      },
      // The slider works without what is drawn above it.
      () => isHere && setFound({ times: [], isPartial: false }),
    )
    return () => void (isHere = false)
  }, [fromMs, toMs])
  return found
}
