import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { countOf, countText, lastingText, msText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { servers } from '../servers.ts'
import { amend, hrefOf, isAdmin, place } from '../state.ts'
import { Table } from '../table.tsx'
import { EndSession } from './end-session.tsx'
import { EndedView } from './ended-view.tsx'
import { pageSize, sessionsEverywhere, type PlacedPage, type PlacedSession } from './everywhere.ts'
import { SessionDetailView } from './session-detail.tsx'

/** Sessions that live, and why others ended. */
export function SessionsView() {
  const id = place.value.query.get('id')
  const show = place.value.query.get('show') === 'ended' ? 'ended' : 'connected'
  return (
    <div class="page">
      <nav class="tabs" aria-label="Sessions">
        <a href={hrefOf('sessions')} aria-current={show === 'connected' ? 'page' : undefined}>
          Live
        </a>
        <a
          href={hrefOf('sessions', { show: 'ended' })}
          aria-current={show === 'ended' ? 'page' : undefined}
        >
          Ended, and why
        </a>
      </nav>
      {show === 'ended' ? (
        <EndedView />
      ) : id === null ? (
        <AllSessions />
      ) : (
        <SessionDetailView key={id} id={id} />
      )}
    </div>
  )
}

function AllSessions() {
  const filter = place.value.query.get('filter') ?? ''
  const [offset, setOffset] = useState(0)
  const [ending, setEnding] = useState<Session | undefined>(undefined)
  const { value, error, again } = usePolled(
    () => sessionsEverywhere(offset, filter),
    2000,
    `${offset} ${filter} ${servers.value.length}`,
  )
  return (
    <>
      <div class="line">
        <h2 class="title">{value === undefined ? 'Sessions' : titleOf(value, filter !== '')}</h2>
        <input
          type="search"
          class="session-filter"
          placeholder="Id, address or identity"
          aria-label="Id, address or identity"
          value={filter}
          onInput={({ currentTarget: { value: text } }) => {
            setOffset(0)
            amend('sessions', text === '' ? {} : { filter: text })
          }}
        />
        {value !== undefined && value.matching > pageSize && (
          <>
            <span>
              {countText(value.offset + 1)} to {countText(value.offset + value.sessions.length)}
            </span>
            <button
              type="button"
              disabled={offset === 0}
              onClick={() => setOffset(Math.max(0, offset - pageSize))}
            >
              Previous
            </button>
            <button
              type="button"
              disabled={offset + pageSize >= value.matching}
              onClick={() => setOffset(offset + pageSize)}
            >
              Next
            </button>
          </>
        )}
      </div>
      <Problem error={error} />
      {value === undefined && error === undefined && <p class="muted">Loading</p>}
      {value?.sessions.length === 0 && (
        <p class="empty">No session has this in its id, its address or its identities.</p>
      )}
      {value !== undefined && value.sessions.length > 0 && (
        <Table
          label="Sessions"
          columns={isAdmin.value ? [...columns, 'Change'] : columns}
          numbers={numbers}
        >
          {value.sessions.map((session) => (
            <Line key={session.id} session={session} onEnd={() => setEnding(session)} />
          ))}
        </Table>
      )}
      {ending !== undefined && (
        <EndSession
          id={ending.id}
          onClose={() => {
            setEnding(undefined)
            again()
          }}
        />
      )}
    </>
  )
}

const numbers = ['Last heard', 'Timeout', 'Ephemerals', 'Requests', 'Latency, mean', 'Highest']
const columns = [
  'Session',
  'Client',
  'Server',
  'Last heard',
  'Timeout',
  'Ephemerals',
  'Requests',
  'Latency, mean',
  'Highest',
  'Last request',
]

function titleOf({ total, matching }: PlacedPage, isFiltered: boolean): string {
  return isFiltered
    ? `${countText(matching)} of ${countOf(total, 'session')}`
    : countOf(total, 'session')
}

interface LineProps {
  readonly session: PlacedSession
  readonly onEnd: () => void
}

function Line({ session, onEnd }: LineProps) {
  const { id, at, connection, timeoutMs, ephemerals, isOfApi, isLocal } = session
  const users = connection?.identities.filter((each) => !each.startsWith('ip:')) ?? []
  // A client that is well is heard of every third of its timeout.
  const isSilent = connection !== null && connection.lastHeardMsAgo > (timeoutMs * 2) / 3
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf('sessions', { id })}>
          <code>{id}</code>
        </a>
        {isLocal && <div class="muted">local</div>}
      </th>
      <td>
        {connection !== null
          ? `${connection.address}:${connection.port}`
          : isOfApi
            ? 'the API'
            : 'not connected'}
        {users.length > 0 && <div class="muted">{users.join(', ')}</div>}
      </td>
      <td>{at?.id === undefined || at.id === '0' ? '–' : `server ${at.id}`}</td>
      <td class={isSilent ? 'number warning' : 'number'}>
        {connection === null ? '–' : `${lastingText(connection.lastHeardMsAgo)} ago`}
        {isSilent && <div>silent</div>}
      </td>
      <td class="number">{lastingText(timeoutMs)}</td>
      <td class="number">{countText(ephemerals)}</td>
      <td class="number">{connection === null ? '–' : countText(connection.requests)}</td>
      <td class="number">{connection === null ? '–' : msText(connection.meanLatencyMs)}</td>
      <td class="number">{connection === null ? '–' : msText(connection.maxLatencyMs)}</td>
      <td>{connection?.lastOperation ?? '–'}</td>
      {isAdmin.value && (
        <td>
          <button type="button" class="danger" onClick={onEnd} aria-label={`End session ${id}`}>
            End
          </button>
        </td>
      )}
    </tr>
  )
}
