import { get, type Contender, type Line } from './api.ts'
import { Problem } from './dialog.tsx'
import { countText, lastingText } from './format.ts'
import { usePolled } from './polled.ts'
import { hrefOf } from './state.ts'

/** Somebody who waits longer than this may be stuck. */
const longMs = 60_000

interface Found {
  readonly lines: readonly Line[]
  readonly isTruncated: boolean
  readonly scanned: number
  readonly unreadable: number
}

export function LocksView() {
  const { value, error } = usePolled(() => get<Found>('/locks', { path: '/' }), 3000, 'locks')
  return (
    <div class="page">
      <Problem error={error} />
      {value !== undefined && (
        <>
          <h2>
            {value.lines.length === 0
              ? 'Nobody holds a lock or waits for one'
              : `${countText(value.lines.length)} locks, elections and semaphores`}
          </h2>
          {(value.isTruncated || value.unreadable > 0) && (
            <p class="notice">
              {value.isTruncated &&
                `Only ${countText(value.scanned)} znodes were looked at: there may be more. `}
              {value.unreadable > 0 &&
                `${countText(value.unreadable)} ${value.unreadable === 1 ? 'znode hides its' : 'znodes hide their'} children from you.`}
            </p>
          )}
          <div class="cards">
            {value.lines.map((line) => (
              <LineCard key={line.path} line={line} />
            ))}
          </div>
        </>
      )}
    </div>
  )
}

function LineCard({ line }: { readonly line: Line }) {
  const { path, kind, contenders, total } = line
  const waiting = contenders.filter(({ holds }) => !holds)
  const isStuck = waiting.some(({ since }) => Date.now() - Date.parse(since) > longMs)
  return (
    <article class={isStuck ? 'card stuck' : 'card'}>
      <h3>
        <a href={hrefOf('tree', { path })}>{path}</a>
      </h3>
      <p class="muted">
        {kind}, {contenders[0]?.library}
        {isStuck && <strong class="warning"> somebody waits for more than a minute</strong>}
      </p>
      <ol>
        {contenders.map((each) => (
          <ContenderLine key={each.node} contender={each} />
        ))}
      </ol>
      {line.hidden > 0 && (
        <p class="notice">
          {countText(line.hidden)} more are hidden by their ACLs: one of them may hold it.
        </p>
      )}
      {contenders.length < total && (
        <p class="muted">{countText(total - contenders.length)} more wait.</p>
      )}
    </article>
  )
}

function ContenderLine({ contender }: { readonly contender: Contender }) {
  const { node, holds, mode, id, session, token, since } = contender
  return (
    <li class={holds ? 'holds' : ''}>
      <div>
        <span class="badge">{holds ? 'holds' : 'waits'}</span>{' '}
        <a href={hrefOf('tree', { path: node })}>
          {id === null || id === '' ? node.split('/').at(-1) : id}
        </a>
        {mode !== null && <span class="muted"> to {mode}</span>}
      </div>
      <div class="muted">
        for {lastingText(Date.now() - Date.parse(since))}, session <code>{session}</code>, token{' '}
        <code>{token}</code>
      </div>
    </li>
  )
}
