import { useState } from 'preact/hooks'
import { serverNowMs } from '../clock.ts'
import { get } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { countText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { EndSession } from '../sessions/end-session.tsx'
import { amend, go, place } from '../state.ts'
import { Deadlocks } from './deadlocks.tsx'
import { LineCard } from './line-card.tsx'
import { LineDetail } from './line-detail.tsx'
import {
  groupOf,
  kindGroups,
  makesWait,
  namesIn,
  sorted,
  waitersOf,
  type Coordination,
  type KindGroup,
} from './lines.ts'
import { WaitsGraph } from './waits-graph.tsx'

const groupTitles: Readonly<Record<KindGroup, string>> = {
  locks: 'Locks',
  semaphores: 'Semaphores',
  elections: 'Elections',
  queues: 'Queues',
  groups: 'Groups',
}
const cardsMax = 120

/** Locks, elections, semaphores, queues and groups, wherever they are in the tree. */
export function CoordinationView() {
  const ask = (): Promise<Coordination> => get('/locks', { path: '/' })
  const { value, error, again } = usePolled(ask, 3000, 'locks')
  const [ending, setEnding] = useState<string | undefined>(undefined)
  const nowMs = serverNowMs()
  const path = place.value.query.get('line')
  return (
    <div class="page">
      <Problem error={error} />
      {value === undefined ? (
        error === undefined && <p class="muted">Looking through the tree.</p>
      ) : path === null ? (
        <Overview found={value} nowMs={nowMs} onEnd={setEnding} />
      ) : (
        <LineDetail
          key={path}
          path={path}
          line={value.lines.find((each) => each.path === path)}
          nowMs={nowMs}
        />
      )}
      {ending !== undefined && (
        <EndSession
          id={ending}
          onClose={() => {
            setEnding(undefined)
            again()
          }}
        />
      )}
    </div>
  )
}

interface OverviewProps {
  readonly found: Coordination
  readonly nowMs: number
  readonly onEnd: (session: string) => void
}

function Overview({ found, nowMs, onEnd }: OverviewProps) {
  const { lines, waits, deadlocks, isTruncated, unreadable } = found
  const { query } = place.value
  const kind = query.get('kind')
  const text = query.get('text') ?? ''
  const isWaiting = query.get('waiting') === 'true'
  const names = namesIn(lines)
  const all = sorted(lines, deadlocks, nowMs)
  const chosen = all.filter(
    ({ line, standing }) =>
      (kind === null || groupOf(line) === kind) &&
      (!isWaiting || standing !== 'calm') &&
      matches(line, text),
  )
  const isFiltered = kind !== null || isWaiting || text !== ''
  const stuck = all.filter(({ standing }) => standing === 'stuck').length
  const waiters = lines.filter(makesWait).reduce((sum, line) => sum + waitersOf(line).length, 0)
  return (
    <>
      <div class="line">
        <h2 class="title">{titleOf(lines.length)}</h2>
        <p class="tallies">
          <span>
            <b>{countText(waiters)}</b> waiting
          </span>
          <span class={stuck > 0 ? 'warning' : ''}>
            <b>{countText(stuck)}</b> stuck
          </span>
          <span class={deadlocks.length > 0 ? 'warning' : ''}>
            <b>{countText(deadlocks.length)}</b> {deadlocks.length === 1 ? 'deadlock' : 'deadlocks'}
          </span>
        </p>
      </div>
      {(isTruncated || unreadable > 0) && (
        <p class="notice">
          {isTruncated && 'Not all of them were looked at: there may be more. '}
          {unreadable > 0 &&
            `${countText(unreadable)} ${unreadable === 1 ? 'znode hides its' : 'znodes hide their'} children from you.`}
        </p>
      )}
      <Deadlocks deadlocks={deadlocks} names={names} onEnd={onEnd} />
      {waits.length > 0 && <WaitsGraph waits={waits} deadlocks={deadlocks} names={names} />}
      {lines.length > 0 && <Filters all={all.map(({ line }) => line)} />}
      {lines.length > 0 && chosen.length === 0 && <p class="empty">Nothing matches the filter.</p>}
      <div class="cards">
        {chosen.slice(0, cardsMax).map(({ line, standing }) => (
          <LineCard key={line.path} line={line} standing={standing} nowMs={nowMs} />
        ))}
      </div>
      {chosen.length > cardsMax && (
        <p class="muted">
          {countText(chosen.length - cardsMax)} more are not shown; a filter leaves fewer.
        </p>
      )}
      {isFiltered && chosen.length > 0 && chosen.length < lines.length && (
        <p class="muted">
          {countText(lines.length - chosen.length)} others do not match the filter.
        </p>
      )}
    </>
  )
}

function titleOf(count: number): string {
  if (count === 0) return 'Nobody holds a lock, waits for one, or is in a queue or group'
  return count === 1 ? '1 lock, queue or group' : `${countText(count)} locks, queues and groups`
}

function matches(line: Coordination['lines'][number], text: string): boolean {
  if (text === '') return true
  const wanted = text.toLowerCase()
  const words = [line.path, ...line.contenders.flatMap(({ id, session }) => [id ?? '', session])]
  return words.some((word) => word.toLowerCase().includes(wanted))
}

function Filters({ all }: { readonly all: Coordination['lines'] }) {
  const query = Object.fromEntries(place.value.query)
  const queryWith = (name: string, value: string | undefined): Record<string, string> => {
    const { [name]: _, ...rest } = query
    return value === undefined ? rest : { ...rest, [name]: value }
  }
  const change = (name: string, value: string | undefined): void =>
    go('locks', queryWith(name, value))
  return (
    <div class="line" role="search">
      <div class="choices" role="group" aria-label="Kind">
        <button
          type="button"
          aria-pressed={query['kind'] === undefined}
          onClick={() => change('kind', undefined)}
        >
          All {countText(all.length)}
        </button>
        {Object.keys(kindGroups).map((name) => {
          const group = name as KindGroup
          const count = all.filter((line) => groupOf(line) === group).length
          return (
            <button
              key={group}
              type="button"
              disabled={count === 0 && query['kind'] !== group}
              aria-pressed={query['kind'] === group}
              onClick={() => change('kind', group)}
            >
              {groupTitles[group]} {countText(count)}
            </button>
          )
        })}
      </div>
      <input
        type="search"
        class="grow"
        aria-label="Path, name or session"
        placeholder="Path, name or session"
        value={query['text'] ?? ''}
        onInput={({ currentTarget: { value } }) =>
          amend('locks', queryWith('text', value === '' ? undefined : value))
        }
      />
      <label class="check">
        <input
          type="checkbox"
          checked={query['waiting'] === 'true'}
          onChange={(event) => change('waiting', event.currentTarget.checked ? 'true' : undefined)}
        />
        only where somebody waits
      </label>
    </div>
  )
}
