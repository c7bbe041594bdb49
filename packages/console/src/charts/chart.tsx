import { signal } from '@preact/signals'
import { useMemo, useState } from 'preact/hooks'
import { useWidth } from '../use-width.ts'
import { byteTicks, timeTicks, valueTicks } from './scale.ts'

export interface Point {
  readonly time: number
  readonly value: number
}
export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}
interface Props {
  readonly title: string
  readonly series: readonly Series[]
  readonly fromMs: number
  readonly toMs: number
  /** A longer pause between two points is a gap, not a line. */
  readonly gapMs: number
  readonly text: (value: number) => string
  readonly isBytes: boolean
  /** A part of the time was chosen; without one, all of it. */
  readonly onZoom: (part?: { readonly fromMs: number; readonly toMs: number }) => void
}

/** The time that is read off in all charts at once. */
const cursor = signal<number | undefined>(undefined)

/** A shorter drag is a click. */
const dragMin = 6
/** The least time that is worth looking at. */
const spanMsMin = 15_000
const height = 150
const margin = { top: 8, right: 10, bottom: 20, left: 64 }
const bottom = height - margin.bottom

/** Values over time; a pointer, or the arrow keys, read them off, and zoom into a part. */
export function Chart(props: Props) {
  const { title, series, fromMs, toMs, gapMs, text, isBytes, onZoom } = props
  const [box, width] = useWidth<HTMLDivElement>(200)
  const highest = Math.max(0, ...series.flatMap(({ points }) => points.map(({ value }) => value)))
  const ticks = isBytes ? byteTicks(highest) : valueTicks(highest)
  const top = ticks.at(-1)!
  const span = Math.max(1, toMs - fromMs)
  const inner = width - margin.left - margin.right
  const x = (time: number): number => margin.left + ((time - fromMs) / span) * inner
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number } | undefined>()
  const timeAt = (event: PointerEvent): number => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect()
    const time = fromMs + ((event.clientX - left - margin.left) / inner) * span
    return Math.min(toMs, Math.max(fromMs, time))
  }
  const y = (value: number): number => bottom - (value / top) * (bottom - margin.top)
  const drawn = useMemo(
    () => (
      <>
        {ticks.map((value) => (
          <g key={value}>
            <line
              class="grid"
              x1={margin.left}
              x2={width - margin.right}
              y1={y(value)}
              y2={y(value)}
            />
            <text class="tick" x={margin.left - 6} y={y(value) + 4} text-anchor="end">
              {text(value)}
            </text>
          </g>
        ))}
        {timeTicks(fromMs, toMs, Math.floor(inner / 62)).map(({ time, text: label }) => (
          <text
            key={time}
            class="tick"
            x={x(time)}
            y={height - 5}
            text-anchor={x(time) > width - 24 ? 'end' : 'middle'}
          >
            {label}
          </text>
        ))}
        {series.length === 1 && <path class="area" d={areaOf(series[0]!.points, x, y, gapMs)} />}
        {series.map(({ name, points }, at) => (
          <path key={name} class={`line series-${at}`} d={pathOf(points, x, y, gapMs)} />
        ))}
      </>
    ),
    [series, width, fromMs, toMs],
  )
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <Legend series={series} text={text} />
      </figcaption>
      <Reader {...props}>
        {(at) => (
          <div
            ref={box}
            onPointerDown={(event) => {
              if (event.button !== 0) return
              event.currentTarget.setPointerCapture(event.pointerId)
              setDrag({ from: timeAt(event), to: timeAt(event) })
            }}
            onPointerMove={(event) => {
              cursor.value = timeAt(event)
              if (drag !== undefined) setDrag({ from: drag.from, to: timeAt(event) })
            }}
            onPointerUp={() => {
              setDrag(undefined)
              if (drag === undefined || Math.abs(x(drag.to) - x(drag.from)) < dragMin) return
              const [start, end] = [drag.from, drag.to].toSorted((a, b) => a - b)
              onZoom(partOf(start!, end!))
            }}
            onPointerCancel={() => setDrag(undefined)}
            onPointerLeave={() => (cursor.value = undefined)}
            onDblClick={() => onZoom()}
          >
            <svg class="plot" width={width} height={height} aria-hidden="true">
              {drag !== undefined && (
                <rect
                  class="zoom"
                  x={Math.min(x(drag.from), x(drag.to))}
                  width={Math.abs(x(drag.to) - x(drag.from))}
                  y={margin.top}
                  height={bottom - margin.top}
                />
              )}
              {drawn}
              {at !== undefined && at >= fromMs && at <= toMs && (
                <>
                  <line class="cursor" x1={x(at)} x2={x(at)} y1={margin.top} y2={bottom} />
                  {series.map(({ name, points }, index) => {
                    const point = nearest(points, at)
                    return (
                      point !== undefined && (
                        <circle
                          key={name}
                          class={`dot series-${index}`}
                          cx={x(point.time)}
                          cy={y(point.value)}
                          r="3.5"
                        />
                      )
                    )
                  })}
                </>
              )}
            </svg>
          </div>
        )}
      </Reader>
    </figure>
  )
}

interface ReaderProps extends Props {
  readonly children: (at: number | undefined) => preact.JSX.Element
}

/** Makes a chart readable by keys and by ear: each step is said with the values there. */
function Reader({ title, series, fromMs, toMs, text, onZoom, children }: ReaderProps) {
  const at = cursor.value
  const now = Math.min(toMs, Math.max(fromMs, at ?? toMs))
  const times = series[0]?.points ?? []
  const onKey = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      PageUp: -12,
      PageDown: 12,
      Home: -times.length,
      End: times.length,
    }
    if (event.key === '+' || event.key === '-') {
      event.preventDefault()
      const quarter = (toMs - fromMs) / 4
      return event.key === '+' ? onZoom(partOf(now - quarter, now + quarter)) : onZoom()
    }
    const step = steps[event.key]
    if (step === undefined || times.length === 0) return
    event.preventDefault()
    const from = indexNear(times, now)
    cursor.value = times[Math.max(0, Math.min(times.length - 1, from + step))]!.time
  }
  return (
    <div
      class="reader"
      tabIndex={0}
      role="slider"
      aria-label={`${title} over time`}
      aria-keyshortcuts="+ -"
      aria-valuemin={fromMs}
      aria-valuemax={toMs}
      aria-valuenow={Math.round(now)}
      aria-valuetext={`${new Date(now).toISOString().slice(11, 19)} UTC: ${valuesText(series, now, text)}`}
      onKeyDown={onKey}
      onBlur={() => (cursor.value = undefined)}
    >
      {children(at)}
    </div>
  )
}

function Legend({ series, text }: Pick<Props, 'series' | 'text'>) {
  const at = cursor.value
  return (
    <span class="legend">
      {at !== undefined && <span class="muted">{new Date(at).toISOString().slice(11, 19)}</span>}
      {series.map(({ name, points }, index) => {
        const point = at === undefined ? points.at(-1) : nearest(points, at)
        return (
          <span key={name}>
            {series.length > 1 && <span class={`mark series-${index}`} aria-hidden="true" />}
            {series.length > 1 && `${name} `}
            <b>{point === undefined ? '–' : text(point.value)}</b>
          </span>
        )
      })}
    </span>
  )
}

/** A part of the time that is not too short to show anything. */
function partOf(fromMs: number, toMs: number): { fromMs: number; toMs: number } {
  const more = Math.max(0, (spanMsMin - (toMs - fromMs)) / 2)
  return { fromMs: Math.floor(fromMs - more), toMs: Math.ceil(toMs + more) }
}

function valuesText(series: readonly Series[], at: number, text: Props['text']): string {
  return series
    .map(({ name, points }) => {
      const point = nearest(points, at)
      return `${series.length > 1 ? `${name} ` : ''}${point === undefined ? 'nothing' : text(point.value)}`
    })
    .join(', ')
}

function pathOf(
  points: readonly Point[],
  x: (time: number) => number,
  y: (value: number) => number,
  gapMs: number,
): string {
  let last = -Infinity
  return points
    .map(({ time, value }) => {
      const isGap = time - last > gapMs
      last = time
      return `${isGap ? 'M' : 'L'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`
    })
    .join('')
}

/** The area below a line, one for each stretch between gaps. */
function areaOf(
  points: readonly Point[],
  x: (time: number) => number,
  y: (value: number) => number,
  gapMs: number,
): string {
  const base = y(0).toFixed(1)
  let drawn = ''
  for (const [at, { time }] of points.entries()) {
    const before = points[at - 1]
    const after = points[at + 1]
    const isFirst = before === undefined || time - before.time > gapMs
    const isLast = after === undefined || after.time - time > gapMs
    if (isFirst) drawn += `M${x(time).toFixed(1)} ${base}`
    drawn += `L${x(time).toFixed(1)} ${y(points[at]!.value).toFixed(1)}`
    if (isLast) drawn += `L${x(time).toFixed(1)} ${base}Z`
  }
  return drawn
}

function nearest(points: readonly Point[], time: number): Point | undefined {
  return points[indexNear(points, time)]
}

/** Points are in the order of their times. */
function indexNear(points: readonly Point[], time: number): number {
  let low = 0
  let high = points.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (points[middle]!.time < time) low = middle + 1
    else high = middle
  }
  const before = points[low - 1]
  const isBeforeNearer = before !== undefined && time - before.time < points[low]!.time - time
  return isBeforeNearer ? low - 1 : low
}
