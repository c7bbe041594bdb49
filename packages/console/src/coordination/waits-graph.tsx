import { hrefOf } from '../state.ts'
import { useWidth } from '../use-width.ts'
import { bulgeOf, layoutOf, shortText, sideOf, textOf, type Arrow, type Place } from './graph.ts'
import type { Coordination, Wait } from './lines.ts'

interface Props extends Pick<Coordination, 'waits' | 'deadlocks'> {
  readonly names: ReadonlyMap<string, string>
}

const sessionsMax = 60
const columnWidthMin = 236
const columnWidthMax = 340
const rowHeight = 78
const boxWidth = 150
const boxHeight = 44
/** Draws who waits for whom. Arrows lead to the holder, and circles stand out. */
export function WaitsGraph({ waits, deadlocks, names }: Props) {
  const shown = someOf(waits, deadlocks)
  const { places, arrows, columns, rows } = layoutOf(shown, deadlocks)
  const side = sideOf(arrows)
  const [box, room] = useWidth<HTMLDivElement>(260)
  const gaps = Math.max(1, columns - 1)
  const fitting = Math.floor((room - 2 * side - boxWidth) / gaps)
  const columnWidth = Math.max(columnWidthMin, Math.min(columnWidthMax, fitting))
  const width = (columns - 1) * columnWidth + boxWidth + 2 * side
  const height = rows * rowHeight + 6
  const left = ({ column }: Place): number => side + column * columnWidth
  const top = ({ row }: Place): number => 16 + row * rowHeight
  return (
    <figure class="waits">
      <figcaption>
        <strong>Who waits for whom</strong>
        <span class="muted">
          An arrow leads from a session to the one that holds what it waits for.
          {shown.length < waits.length &&
            ` Only ${shown.length} of ${waits.length} waits are drawn; the lists below have all.`}
        </span>
      </figcaption>
      <div ref={box} class="wide-drawing" tabIndex={0} role="region" aria-label="Graph of waits">
        <svg
          class="plot"
          width={width}
          height={height}
          role="group"
          aria-label={summaryOf(shown, deadlocks)}
        >
          <defs>
            {['calm', 'circle'].map((kind) => (
              <marker
                key={kind}
                id={`head-${kind}`}
                class={kind}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="10"
                markerHeight="10"
                markerUnits="userSpaceOnUse"
                orient="auto-start-reverse"
              >
                <path d="M0 0L8 4L0 8z" />
              </marker>
            ))}
          </defs>
          {arrows.map((arrow) => (
            <ArrowLine
              key={`${arrow.from.session} ${arrow.to.session}`}
              arrow={arrow}
              left={left}
              top={top}
            />
          ))}
          {places.map((place) => {
            const { session, isInCircle } = place
            const name = names.get(session)
            return (
              <a key={session} href={hrefOf('sessions', { id: session })}>
                <rect
                  class={isInCircle ? 'session circle' : 'session'}
                  x={left(place)}
                  y={top(place)}
                  width={boxWidth}
                  height={boxHeight}
                  rx="6"
                />
                <text class="who" x={left(place) + boxWidth / 2} y={top(place) + 18}>
                  {shortText(name ?? 'session', 19)}
                </text>
                <text class="id" x={left(place) + boxWidth / 2} y={top(place) + 34}>
                  {session}
                </text>
              </a>
            )
          })}
        </svg>
      </div>
    </figure>
  )
}

interface ArrowProps {
  readonly arrow: Arrow
  readonly left: (place: Place) => number
  readonly top: (place: Place) => number
}

function ArrowLine({ arrow, left, top }: ArrowProps) {
  const { from, to, paths, isInCircle } = arrow
  const kind = isInCircle ? 'circle' : 'calm'
  const [fromY, toY] = [top(from) + boxHeight / 2, top(to) + boxHeight / 2]
  let d: string
  let label: { readonly x: number; readonly y: number; readonly anchor: 'start' | 'middle' | 'end' }
  if (from.column === to.column) {
    // Down on the right, up on the left, so that a circle looks like one.
    const isDown = to.row > from.row
    const x = left(from) + (isDown ? boxWidth : 0)
    const bulge = (isDown ? 1 : -1) * bulgeOf(arrow)
    d = `M${x} ${fromY}C${x + bulge} ${fromY} ${x + bulge} ${toY} ${x} ${toY}`
    label = {
      x: x + bulge * 0.75 + (isDown ? 6 : -6),
      y: (fromY + toY) / 2 + 4,
      anchor: isDown ? 'start' : 'end',
    }
  } else {
    const [x1, x2] = [left(from) + boxWidth, left(to)]
    const middle = (x1 + x2) / 2
    d = `M${x1} ${fromY}C${middle} ${fromY} ${middle} ${toY} ${x2} ${toY}`
    // Beside its beginning, where no other arrow is.
    label = { x: x1 + 8, y: fromY - 6, anchor: 'start' }
  }
  return (
    <g class={`arrow ${kind}`}>
      <path d={d} marker-end={`url(#head-${kind})`}>
        <title>{`${from.session} waits for ${to.session}: ${paths.join(', ')}`}</title>
      </path>
      <text x={label.x} y={label.y} text-anchor={label.anchor}>
        {textOf(arrow)}
      </text>
    </g>
  )
}

/** All of the deadlocks, and others until the drawing is full. */
function someOf(waits: readonly Wait[], deadlocks: readonly (readonly Wait[])[]): readonly Wait[] {
  const first = new Set(deadlocks.flat().map(({ waiter }) => waiter))
  const ordered = [
    ...waits.filter(({ waiter }) => first.has(waiter)),
    ...waits.filter(({ waiter }) => !first.has(waiter)),
  ]
  const sessions = new Set<string>()
  return ordered.filter(({ waiter, holder }) => {
    const fresh = [waiter, holder].filter((each) => !sessions.has(each))
    if (sessions.size + fresh.length > sessionsMax) return false
    for (const each of fresh) sessions.add(each)
    return true
  })
}

function summaryOf(waits: readonly Wait[], deadlocks: readonly unknown[]): string {
  const sessions = new Set(waits.flatMap(({ waiter, holder }) => [waiter, holder])).size
  const circles = deadlocks.length === 1 ? '1 deadlock' : `${deadlocks.length} deadlocks`
  return `${waits.length} waits among ${sessions} sessions, ${circles}`
}
