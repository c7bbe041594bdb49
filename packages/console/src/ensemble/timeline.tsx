import { useRef, useState } from 'preact/hooks'
import { serverNowMs } from '../clock.ts'
import { getFrom, type Ensemble } from '../api.ts'
import { timeTicks } from '../charts/scale.ts'
import { clockText, countOf, countText, lastingText, preciseText, timeText } from '../format.ts'
import { useRepeated } from '../polled.ts'
import { server, servers } from '../servers.ts'
import { go, place } from '../state.ts'
import { Table } from '../table.tsx'
import { useWidth } from '../use-width.ts'
import { laneOf, reignsIn, type Lane, type Role, type TimelineJson } from './lanes.ts'

const pollMs = 4000
const ranges = { '5 min': 5, '1 hour': 60, '6 hours': 360, all: 0 } as const
const roleTexts: Readonly<Record<Role, string>> = {
  starting: 'starting',
  looking: 'looking for a leader',
  synchronizing: 'synchronizing',
  following: 'following',
  leading: 'leading',
  readOnly: 'read-only',
}
const laneHeight = 34
const barHeight = 18
const left = 78
const right = 12
/** Shorter spans are drawn this wide: an election takes milliseconds. */
const widthMin = 3

/** Lanes of all members that answer; what one that is gone has said before stays. */
function useLanes(self: string): readonly Lane[] {
  const [lanes, setLanes] = useState<readonly Lane[]>([])
  const known = useRef(new Map<string, Lane>())
  const all = servers.value.length > 0 ? servers.value : [server.value]
  useRepeated(
    async (isCurrent) => {
      await Promise.all(
        all.map(async ({ id = self, origin }) => {
          const found = await getFrom<TimelineJson>(origin, '/ensemble/timeline').catch(
            () => undefined,
          )
          if (found !== undefined) known.current.set(id, laneOf(id, found, serverNowMs()))
        }),
      )
      if (!isCurrent()) return
      setLanes([...known.current.values()].toSorted((a, b) => Number(a.id) - Number(b.id)))
    },
    pollMs,
    all.map(({ origin }) => origin).join(' '),
  )
  return lanes
}

/** Elections and hand-overs: a lane for each server, who led, and what each has seen. */
export function Timeline({ ensemble }: { readonly ensemble: Ensemble }) {
  const lanes = useLanes(ensemble.self)
  const { query } = place.value
  const range = Object.entries(ranges).find(([name]) => name === query.get('time'))?.[1] ?? 60
  const nowMs = Math.max(0, ...lanes.map(({ knownMs }) => knownMs))
  const firstMs = Math.min(nowMs, ...lanes.map(({ startedMs }) => startedMs))
  const fromMs = range === 0 ? firstMs : Math.max(firstMs, nowMs - range * 60_000)
  const missing = ensemble.members.filter(({ id }) => lanes.every((lane) => lane.id !== id))
  return (
    <section aria-labelledby="time-title" class="stack">
      <div class="line">
        <h2 id="time-title" class="grow">
          Elections and hand-overs
        </h2>
        <div class="choices" role="group" aria-label="How far back">
          {Object.entries(ranges).map(([name, minutes]) => (
            <button
              key={name}
              type="button"
              aria-pressed={minutes === range}
              onClick={() => go('ensemble', { ...Object.fromEntries(query), time: name })}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      {lanes.length > 0 && (
        <>
          <Lanes lanes={lanes} fromMs={fromMs} toMs={nowMs} />
          {missing.length > 0 && (
            <p class="muted">
              Nothing is known of {missing.map(({ id }) => `server ${id}`).join(', ')}: no answer
              from there.
            </p>
          )}
          <Reigns lanes={lanes} nowMs={nowMs} />
          <Moments lanes={lanes} />
        </>
      )}
    </section>
  )
}

interface LanesProps {
  readonly lanes: readonly Lane[]
  readonly fromMs: number
  readonly toMs: number
}

function Lanes({ lanes, fromMs, toMs }: LanesProps) {
  const [box, width] = useWidth<HTMLDivElement>(260)
  const span = Math.max(1000, toMs - fromMs)
  const inner = width - left - right
  const x = (time: number): number =>
    left + Math.max(0, Math.min(1, (time - fromMs) / span)) * inner
  const height = lanes.length * laneHeight + 24
  const shownRoles = [
    ...new Set(lanes.flatMap(({ stretches }) => stretches.map(({ role }) => role))),
  ]
  return (
    <figure class="lanes">
      <div ref={box}>
        <svg class="plot" width={width} height={height} role="img" aria-label={lanesText(lanes)}>
          {timeTicks(fromMs, toMs, Math.floor(inner / 80)).map(({ time, text }) => (
            <g key={time}>
              <line class="grid" x1={x(time)} x2={x(time)} y1="0" y2={height - 20} />
              <text
                class="tick"
                x={x(time)}
                y={height - 5}
                text-anchor={x(time) > width - 40 ? 'end' : 'middle'}
              >
                {text}
              </text>
            </g>
          ))}
          {lanes.map(({ id, stretches, moments, knownMs }, at) => {
            const y = at * laneHeight + 6
            return (
              <g key={id}>
                <text class="lane-name" x="0" y={y + 13}>
                  {id === '0' ? 'this server' : `Server ${id}`}
                </text>
                {stretches
                  .filter((each) => each.toMs > fromMs)
                  .map(({ role, fromMs: start, toMs: end, leader, epoch }) => (
                    <rect
                      key={`${role} ${start}`}
                      class={`stretch ${role}`}
                      x={x(start)}
                      y={y}
                      width={Math.max(widthMin, x(end) - x(start))}
                      height={barHeight}
                      rx="2"
                    >
                      <title>
                        {`${roleTexts[role]}${role === 'following' && leader !== null ? ` server ${leader}` : ''}` +
                          `${epoch === null ? '' : `, epoch ${epoch}`}, for ${preciseText(end - start)}`}
                      </title>
                    </rect>
                  ))}
                {knownMs < toMs - 3 * pollMs && (
                  <text class="tick" x={Math.min(x(knownMs) + 6, width - 100)} y={y + 13}>
                    does not answer
                  </text>
                )}
                {moments
                  .filter(({ kind, timeMs }) => kind === 'handingOver' && timeMs >= fromMs)
                  .map(({ timeMs }) => (
                    <path key={timeMs} class="hand-over" d={`M${x(timeMs)} ${y - 5}l5 9l-10 0z`}>
                      <title>{`hands leadership over, ${clockText(timeMs)}`}</title>
                    </path>
                  ))}
              </g>
            )
          })}
        </svg>
      </div>
      <p class="key muted" aria-hidden="true">
        {shownRoles.map((role) => (
          <span key={role}>
            <span class={`swatch ${role}`} /> {roleTexts[role]}
          </span>
        ))}
        {lanes.some(({ moments }) => moments.some(({ kind }) => kind === 'handingOver')) && (
          <span>▲ hands over</span>
        )}
      </p>
    </figure>
  )
}

function lanesText(lanes: readonly Lane[]): string {
  const parts = lanes.map(({ id, stretches }) => {
    const last = stretches.at(-1)
    return `server ${id}: ${last === undefined ? 'unknown' : roleTexts[last.role]}`
  })
  return `Roles of the servers over time; now ${parts.join(', ')}. The tables below say the same.`
}

const reignsMax = 12

function Reigns({ lanes, nowMs }: { readonly lanes: readonly Lane[]; readonly nowMs: number }) {
  const all = reignsIn(lanes, nowMs)
  if (all.length === 0) return null
  return (
    <>
      <Table
        label="Leaders"
        columns={['Leader', 'Epoch', 'Since (UTC)', 'For', 'Came by', 'No leader before']}
      >
        {all.slice(0, reignsMax).map(({ leader, epoch, fromMs, toMs, gapMs, isHandOver }) => (
          <tr key={`${leader} ${fromMs}`}>
            <th scope="row">Server {leader}</th>
            <td>{epoch ?? '–'}</td>
            <td>{timeText(new Date(fromMs).toISOString())}</td>
            <td>
              {lastingText((toMs ?? nowMs) - fromMs)}
              {toMs === undefined && <span class="badge leads">leads</span>}
            </td>
            <td>
              {isHandOver === undefined ? 'not known' : isHandOver ? 'hand-over' : 'election'}
            </td>
            <td>{gapMs === undefined ? '–' : preciseText(gapMs)}</td>
          </tr>
        ))}
      </Table>
      {all.length > reignsMax && (
        <p class="muted">{countText(all.length - reignsMax)} earlier ones are not shown.</p>
      )}
    </>
  )
}

const momentsShown = 50

function Moments({ lanes }: { readonly lanes: readonly Lane[] }) {
  const [isOpen, setOpen] = useState(false)
  const all = lanes.flatMap(({ moments }) => moments).toSorted((a, b) => b.timeMs - a.timeMs)
  const [count, setCount] = useState(momentsShown)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{countOf(all.length, 'event')}, as the servers saw them</summary>
      {isOpen && (
        <>
          <Table label="Events" columns={['Time (UTC)', 'Server', 'Event']}>
            {all.slice(0, count).map(({ server: id, timeMs, text }, at) => (
              <tr key={`${id} ${timeMs} ${at}`}>
                <td>{clockText(timeMs)}</td>
                <td>{id}</td>
                <td>{text}</td>
              </tr>
            ))}
          </Table>
          {all.length > count && (
            <button type="button" onClick={() => setCount(count * 4)}>
              Show more
            </button>
          )}
        </>
      )}
    </details>
  )
}
