import { serverNowMs } from '../clock.ts'
import { get, getFrom } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { countText, lastingText, timeText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { nameOf, server, servers } from '../servers.ts'
import { go, hrefOf, place } from '../state.ts'
import {
  courseOf,
  together,
  verdicts,
  verdictText,
  type Ended,
  type Report,
  type SessionEnd,
} from './ends.ts'
// oxlint-disable-next-line import/no-unassigned-import -- Vite makes a file of its own of it
import './ended.css'

const limit = 200

interface Answers {
  readonly reports: readonly Report[]
  /** Servers that did not answer. */
  readonly silent: readonly string[]
}

/** Why the last sessions ended, as all servers of the ensemble saw it. */
export function EndedView() {
  const { query } = place.value
  const id = query.get('id') ?? undefined
  const isWithClosed = query.get('closed') === 'true'
  const verdict = verdicts.find((each) => each === query.get('verdict'))
  const key = `${id} ${isWithClosed} ${servers.value.map(({ origin }) => origin).join(' ')}`
  const { value, error } = usePolled(() => askAll({ id, closed: isWithClosed }), 4000, key)
  const show = (next: Readonly<Record<string, string | undefined>>): void => {
    const all = { show: 'ended', id, closed: isWithClosed ? 'true' : undefined, verdict, ...next }
    const given = Object.entries(all).filter(([, each]) => each !== undefined)
    go('sessions', Object.fromEntries(given) as Record<string, string>)
  }
  if (value === undefined) {
    return error === undefined ? <p class="muted">Asking all servers</p> : <Problem error={error} />
  }
  const all = together(value.reports)
  const shown = verdict === undefined ? all : all.filter((each) => each.verdict === verdict)
  return (
    <>
      <div class="line">
        <h2 class="grow">
          {id !== undefined
            ? `Session ${id}`
            : `${countText(all.length)} ${all.length === 1 ? 'session' : 'sessions'} that ended`}
        </h2>
        {id !== undefined && (
          <button type="button" onClick={() => show({ id: undefined })}>
            All sessions
          </button>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={isWithClosed}
            onChange={(event) => show({ closed: event.currentTarget.checked ? 'true' : undefined })}
          />
          with sessions that their clients closed
        </label>
      </div>
      {id === undefined && (
        <div class="line" role="group" aria-label="Verdicts">
          {verdicts.map((each) => {
            const count = all.filter((ended) => ended.verdict === each).length
            if (count === 0 && each !== verdict) return null
            return (
              <button
                key={each}
                type="button"
                class="chip"
                aria-pressed={each === verdict}
                onClick={() => show({ verdict: each === verdict ? undefined : each })}
              >
                {verdictText[each]}: {countText(count)}
              </button>
            )
          })}
        </div>
      )}
      {value.silent.length > 0 && (
        <p class="notice">
          {value.silent.join(' and ')} did not say what {value.silent.length === 1 ? 'it' : 'they'}{' '}
          saw.
        </p>
      )}
      <Problem error={error} />
      {shown.length === 0 && (
        <p class="muted">
          {id === undefined
            ? 'No session ended by itself since the servers started. Servers keep the last 1,000 in memory.'
            : 'No server knows of its end: it is live, it ended before the servers started, or its client closed it.'}
        </p>
      )}
      <div class="ends">
        {shown.map((ended) => (
          <EndCard key={`${ended.id} ${ended.zxid}`} ended={ended} />
        ))}
      </div>
    </>
  )
}

/** Each server knows a part: the one of the client its connections, the leader when it decided. */
async function askAll(query: {
  readonly id: string | undefined
  readonly closed: boolean
}): Promise<Answers> {
  const path = '/sessions/expired'
  const asked = { ...query, limit }
  const own = await get<{ sessions: readonly SessionEnd[] }>(path, asked)
  const others = servers.value.filter(({ origin }) => origin !== server.value.origin)
  const answers = await Promise.allSettled(
    others.map(({ origin }) => getFrom<{ sessions: readonly SessionEnd[] }>(origin, path, asked)),
  )
  const reportsOf = (name: string, sessions: readonly SessionEnd[]): Report[] =>
    sessions.map((end) => ({ server: name, end }))
  return {
    reports: [
      ...reportsOf(nameOf(server.value), own.sessions),
      ...answers.flatMap((answer, at) =>
        answer.status === 'fulfilled' ? reportsOf(nameOf(others[at]!), answer.value.sessions) : [],
      ),
    ],
    silent: answers.flatMap((answer, at) =>
      answer.status === 'rejected' ? [nameOf(others[at]!)] : [],
    ),
  }
}

function EndCard({ ended }: { readonly ended: Ended }) {
  const { id, zxid, time, verdict, reports } = ended
  const [best] = reports
  return (
    <article class="card" aria-label={`Session ${id}`}>
      <header class="line">
        <h3>
          <code>{id}</code>
        </h3>
        <span class={`verdict ${verdict}`}>{verdictText[verdict]}</span>
        <span class="grow" />
        <span class="muted">
          {timeText(time)} UTC, {lastingText(serverNowMs() - Date.parse(time))} ago
        </span>
      </header>
      {reports.map(({ server: name, end }) => (
        <div key={name}>
          {reports.length > 1 && (
            <h4>
              {name}
              {end.isDecidedHere && <span class="muted">, which decided</span>}
            </h4>
          )}
          {end.seen.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          {(end.connections.length > 0 || end.stalls.length > 0 || end.roles.length > 0) && (
            <CourseChart end={end} />
          )}
          <EndFacts end={end} />
          {end === best?.end &&
            end.unknown
              .filter(() => reports.length === 1)
              .map((each) => (
                <p key={each} class="muted">
                  Not known here: {each}
                </p>
              ))}
        </div>
      ))}
      <p class="line links">
        <a href={hrefOf('history', { session: id })}>Its changes</a>
        <a href={hrefOf('history', { show: 'difference', from: before(zxid), to: zxid })}>
          What was deleted with it
        </a>
      </p>
    </article>
  )
}

const before = (zxid: string): string => `0x${(BigInt(zxid) - 1n).toString(16)}`

function EndFacts({ end }: { readonly end: SessionEnd }) {
  const { timeoutMs, lastHeardMsAgo, lastHeardIsExact, connections, stalls, moves, roles } = end
  const gap = Math.max(0, ...connections.map(({ longestGapMs }) => longestGapMs))
  const resets = connections.filter((each) => each.end === 'broken').length
  const stalledMs = stalls.reduce((sum, { ms }) => sum + ms, 0)
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Timeout', timeoutMs === null ? undefined : preciseText(timeoutMs)],
    [
      'Last heard',
      lastHeardMsAgo === null
        ? undefined
        : `${preciseText(lastHeardMsAgo)} before${lastHeardIsExact ? '' : ', to the tick'}`,
    ],
    ['Longest gap', connections.length === 0 ? undefined : preciseText(gap)],
    ['Connections', connections.length === 0 ? undefined : countText(connections.length)],
    ['Resets', connections.length === 0 ? undefined : countText(resets)],
    [
      'Requests',
      connections.length === 0
        ? undefined
        : countText(connections.reduce((sum, { requests }) => sum + requests, 0)),
    ],
    ['Changed servers', moves === null || moves === 0 ? undefined : `${moves} times`],
    ['Server stalls', stalledMs === 0 ? undefined : `${stalls.length}, ${preciseText(stalledMs)}`],
    ['Roles taken', roles.length === 0 ? undefined : roles.map(({ role }) => role).join(', ')],
  ]
  return (
    <dl class="end-facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

function preciseText(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s` : lastingText(ms)
}

const width = 600
const laneHeight = 12

function CourseChart({ end }: { readonly end: SessionEnd }) {
  const { fromMs, toMs, bars, marks } = courseOf(end)
  const height = Math.max(2, bars.length) * laneHeight + 4
  const texts = [...bars, ...marks].map(({ text }) => text)
  return (
    <figure class="course">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The last ${preciseText(toMs - fromMs)}: ${texts.join('; ')}`}
      >
        {bars.map(({ kind, from, to }, at) => (
          <rect
            key={at}
            class={kind}
            x={from * width}
            y={at * laneHeight + 2}
            width={Math.max(2, (to - from) * width)}
            height={laneHeight - 4}
            rx="2"
          />
        ))}
        {marks.map(({ kind, at }, i) => (
          <line key={i} class={kind} x1={at * width} x2={at * width} y1="0" y2={height} />
        ))}
        <line class="over" x1={width - 1} x2={width - 1} y1="0" y2={height} />
      </svg>
      <figcaption class="axis muted">
        <span>{preciseText(toMs - fromMs)} before</span>
        <span class="legend">
          {bars.some(({ kind }) => kind === 'connection') && <i class="connection">connected</i>}
          {bars.some(({ kind }) => kind === 'stall') && <i class="stall">server stalled</i>}
          {marks.some(({ kind }) => kind === 'heard') && <i class="heard">last heard</i>}
          {marks.some(({ kind }) => kind === 'role') && <i class="role">role changed</i>}
        </span>
        <span>end</span>
      </figcaption>
    </figure>
  )
}
