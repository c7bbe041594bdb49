import { useState } from 'preact/hooks'
import { get, type Session } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { countText, lastingText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { hrefOf, isAdmin, place } from '../state.ts'
import { EndSession } from './end-session.tsx'
import { EndedView } from './ended-view.tsx'
import { SessionDetailView } from './session-detail.tsx'

const pageSize = 200

interface Page {
  readonly total: number
  readonly offset: number
  readonly sessions: readonly Session[]
}

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
  const [offset, setOffset] = useState(0)
  const [ending, setEnding] = useState<Session | undefined>(undefined)
  const ask = (): Promise<Page> => get<Page>('/sessions', { offset, limit: pageSize })
  const { value, error, again } = usePolled(ask, 2000, String(offset))
  return (
    <>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <div class="line">
            <h2 class="grow">
              {countText(value.total)} {value.total === 1 ? 'session' : 'sessions'}
            </h2>
            {value.total > pageSize && (
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
                  disabled={offset + pageSize >= value.total}
                  onClick={() => setOffset(offset + pageSize)}
                >
                  Next
                </button>
              </>
            )}
          </div>
          <div class="scroll" tabIndex={0} role="region" aria-label="Sessions">
            <table>
              <thead>
                <tr>
                  {[
                    'Session',
                    'Client',
                    'Last heard',
                    'Timeout',
                    'Ephemerals',
                    'Requests',
                    'Latency',
                    'Last',
                  ].map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                  {isAdmin.value && <th scope="col">Change</th>}
                </tr>
              </thead>
              <tbody>
                {value.sessions.map((session) => (
                  <Line key={session.id} session={session} onEnd={() => setEnding(session)} />
                ))}
              </tbody>
            </table>
          </div>
        </>
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

function Line({ session, onEnd }: { readonly session: Session; readonly onEnd: () => void }) {
  const { id, connection, timeoutMs, ephemerals, isOfApi, isLocal } = session
  const users = connection?.identities.filter((each) => !each.startsWith('ip:')) ?? []
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf('sessions', { id })}>
          <code>{id}</code>
        </a>
        {isLocal && <div class="muted">local</div>}
      </th>
      <td>
        {connection === null
          ? isOfApi
            ? 'this console or the API'
            : 'not connected here'
          : `${connection.address}:${connection.port}`}
        {users.length > 0 && <div class="muted">{users.join(', ')}</div>}
      </td>
      <td>{connection === null ? '–' : `${lastingText(connection.lastHeardMsAgo)} ago`}</td>
      <td>{lastingText(timeoutMs)}</td>
      <td>{countText(ephemerals)}</td>
      <td>{connection === null ? '–' : countText(connection.requests)}</td>
      <td>
        {connection === null
          ? '–'
          : `${connection.meanLatencyMs} ms, at most ${connection.maxLatencyMs}`}
      </td>
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
