import { useState } from 'preact/hooks'
import { serverNowMs } from '../clock.ts'
import { ApiError, get, getFrom, type Session } from '../api.ts'
import type { Coordination, Line } from '../coordination/lines.ts'
import { Problem } from '../dialog.tsx'
import { countOf, countText, lastingText, msText, timeText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { nameOf, server, servers, type Server } from '../servers.ts'
import { go, hrefOf, isAdmin } from '../state.ts'
import { Table } from '../table.tsx'
import { EndSession } from './end-session.tsx'

export interface SessionDetail extends Pick<
  Session,
  'id' | 'timeoutMs' | 'isLocal' | 'isOfApi' | 'connection'
> {
  readonly ephemerals: readonly string[]
  readonly ephemeralsTotal: number
  readonly watches: readonly { readonly path: string; readonly kinds: string }[]
  readonly watchesTotal: number
  readonly hidden: number
}

interface Found {
  readonly detail: SessionDetail
  /** The server that it is connected to; undefined where none is known. */
  readonly at: Server | undefined
}

/** Every server knows the session; only the one that it is connected to knows its connection and watches. */
async function find(id: string): Promise<Found> {
  const detail = await get<SessionDetail>('/sessions/detail', { id })
  if (detail.connection !== null) return { detail, at: server.value }
  const { origin } = server.value
  const others = servers.value.filter((each) => each.origin !== origin)
  const answers = await Promise.all(
    others.map(async (at) => {
      const there = await getFrom<SessionDetail>(at.origin, '/sessions/detail', { id }).catch(
        () => undefined,
      )
      return there !== undefined && there.connection !== null ? { detail: there, at } : undefined
    }),
  )
  return answers.find((each) => each !== undefined) ?? { detail, at: undefined }
}

/** One session: its client, what it made and watches, what it holds and waits for. */
export function SessionDetailView({ id }: { readonly id: string }) {
  const { value, error } = usePolled(() => find(id), 2000, id)
  const [isEnding, setEnding] = useState(false)
  const isGone = error instanceof ApiError && error.code === 'noSession'
  return (
    <>
      <div class="line">
        <a href={hrefOf('sessions')}>All sessions</a>
        <h2 class="grow">Session {id}</h2>
        <a href={hrefOf('history', { session: id })}>Its changes</a>
        {isAdmin.value && value !== undefined && !isGone && (
          <button type="button" class="danger" onClick={() => setEnding(true)}>
            End session
          </button>
        )}
      </div>
      {isGone ? (
        <p class="empty">
          There is no such session any more.{' '}
          <a href={hrefOf('sessions', { show: 'ended', id, closed: 'true' })}>Why it ended</a>
        </p>
      ) : (
        <>
          <Problem error={error} />
          {value !== undefined && (
            <>
              <Client found={value} />
              <Holding id={id} />
              <Paths found={value} />
            </>
          )}
        </>
      )}
      {isEnding && (
        <EndSession
          id={id}
          onClose={() => {
            setEnding(false)
            go('sessions', { id })
          }}
        />
      )}
    </>
  )
}

function Client({ found: { detail, at } }: { readonly found: Found }) {
  const { connection, timeoutMs, isLocal, isOfApi } = detail
  const facts: readonly (readonly [string, string])[] = [
    [
      'Client',
      connection !== null
        ? `${connection.address}:${connection.port}`
        : isOfApi
          ? 'this console or the API'
          : 'not connected to a server that answers',
    ],
    ['Server', at === undefined ? '–' : nameOf(at)],
    ['Timeout', lastingText(timeoutMs)],
    ...(isLocal ? ([['Kind', 'local: only its server knows it']] as const) : []),
    ...(connection === null
      ? []
      : ([
          ['Last heard', `${lastingText(connection.lastHeardMsAgo)} ago`],
          ['Connected since', `${timeText(connection.since)} UTC`],
          [
            'Latency',
            `${msText(connection.meanLatencyMs)}, at most ${msText(connection.maxLatencyMs)}`,
          ],
          ['Requests', countText(connection.requests)],
          ['In flight', countText(connection.outstanding)],
          ['Last request', connection.lastOperation ?? '–'],
          [
            'Identities',
            connection.identities.filter((each) => !each.startsWith('ip:')).join(', ') || 'none',
          ],
        ] as const)),
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The locks of the whole tree that it holds and waits for. */
function Holding({ id }: { readonly id: string }) {
  const { value } = usePolled(() => get<Coordination>('/locks', { path: '/' }), 5000, `holds ${id}`)
  const all = (value?.lines ?? []).flatMap((line) =>
    line.contenders
      .map((contender, at) => ({ line, contender, at }))
      .filter(({ contender }) => contender.session === id),
  )
  const circle = value?.deadlocks.find((each) => each.some(({ waiter }) => waiter === id))
  if (all.length === 0) return null
  return (
    <section class="stack" aria-labelledby="holds-title">
      <h2 id="holds-title">Holds and waits for</h2>
      {circle !== undefined && (
        <p class="problem">
          It is part of a deadlock of {circle.length} sessions. <a href={hrefOf('locks')}>Locks</a>
        </p>
      )}
      <Table label="Locks of the session" columns={['State', 'What', 'Kind', 'Queued']}>
        {all.map(({ line, contender, at }) => (
          <tr key={contender.node} class={contender.holds ? 'holds' : ''}>
            <td>
              <span class="badge">{placeText(line, contender.holds, at)}</span>
            </td>
            <th scope="row" class="path">
              <a href={hrefOf('locks', { line: line.path })}>{line.path}</a>
            </th>
            <td>{line.kind}</td>
            <td>{lastingText(serverNowMs() - Date.parse(contender.since))} ago</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function placeText({ kind, contenders }: Line, holds: boolean, at: number): string {
  if (kind === 'group') return 'member'
  if (holds) return kind === 'election' ? 'leads' : 'holds'
  const holders = contenders.filter((each) => each.holds).length
  return `waits, ${at - holders + 1} in line`
}

function Paths({ found: { detail } }: { readonly found: Found }) {
  const { ephemerals, ephemeralsTotal, watches, watchesTotal, hidden, connection } = detail
  return (
    <>
      <div class="cards">
        <section class="card" aria-labelledby="ephemerals-title">
          <h3 id="ephemerals-title">{countOf(ephemeralsTotal, 'ephemeral znode')}</h3>
          <ul class="paths">
            {ephemerals.map((path) => (
              <li key={path}>
                <a href={hrefOf('tree', { path })}>{path}</a>
              </li>
            ))}
          </ul>
          {ephemerals.length < ephemeralsTotal && (
            <p class="muted">{countText(ephemerals.length)} of them are shown.</p>
          )}
        </section>
        <section class="card" aria-labelledby="watches-title">
          <h3 id="watches-title">
            {connection === null
              ? 'Watches are not known'
              : countOf(watchesTotal, 'watch', 'watches')}
          </h3>
          <ul class="paths">
            {watches.map(({ path, kinds }) => (
              <li key={path}>
                <a href={hrefOf('tree', { path })}>{path}</a> <span class="muted">{kinds}</span>
              </li>
            ))}
          </ul>
          {watches.length > 0 && watches.length < watchesTotal && (
            <p class="muted">
              {countText(watches.length)} paths are shown; a path can have several watches.
            </p>
          )}
        </section>
      </div>
      {hidden > 0 && (
        <p class="notice">{countOf(hidden, 'path is', 'paths are')} hidden from you.</p>
      )}
    </>
  )
}
