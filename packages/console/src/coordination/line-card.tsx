import { countText, lastingText } from '../format.ts'
import { hrefOf } from '../state.ts'
import {
  groupOf,
  waitersOf,
  waitingSince,
  type Contender,
  type KindGroup,
  type Line,
  type Standing,
} from './lines.ts'

const shownMax = 6

interface Props {
  readonly line: Line
  readonly standing: Standing
  readonly nowMs: number
}

const standingTexts: Readonly<Record<Standing, string | undefined>> = {
  deadlock: 'deadlock',
  stuck: 'stuck',
  waiting: undefined,
  calm: undefined,
}

/** How a contender came, also one that holds by now. */
const cameTexts: Readonly<Record<KindGroup, string>> = {
  locks: 'queued',
  semaphores: 'queued',
  elections: 'joined',
  queues: 'added',
  groups: 'joined',
}

/** A lock, election, semaphore, queue or group, with its holders and its waiters in order. */
export function LineCard({ line, standing, nowMs }: Props) {
  const { path, kind, contenders, total, hidden } = line
  const group = groupOf(line)
  const waiters = waitersOf(line).length
  const since = waitingSince(line)
  const mark = standingTexts[standing]
  return (
    <article class={`card coordination ${standing}`}>
      <header>
        <h3>
          <a href={hrefOf('locks', { line: path })}>{path}</a>
        </h3>
        {mark !== undefined && <span class="badge alarm">{mark}</span>}
      </header>
      <p class="muted">
        {kind}, {contenders[0]?.library === 'any' ? 'ephemeral znodes' : contenders[0]?.library}
        {group === 'groups' && `, ${countText(total)} ${total === 1 ? 'member' : 'members'}`}
        {group === 'queues' && `, ${countText(total)} ${total === 1 ? 'item' : 'items'}`}
        {(group === 'locks' || group === 'semaphores') &&
          waiters > 0 &&
          `, ${countText(total - (contenders.length - waiters))} wait`}
      </p>
      {since !== undefined && standing !== 'waiting' && (
        <p class="warning">
          {standing === 'deadlock'
            ? 'Its holder waits for something that a waiter holds.'
            : `Somebody waits for ${lastingText(nowMs - since)}.`}
        </p>
      )}
      <ol class={group}>
        {contenders.slice(0, shownMax).map((each, at) => (
          <ContenderLine key={each.node} contender={each} line={line} at={at} nowMs={nowMs} />
        ))}
      </ol>
      {hidden > 0 && (
        <p class="notice">
          {countText(hidden)} more are hidden by their ACLs: one of them may hold it.
        </p>
      )}
      {total > shownMax && (
        <p>
          <a href={hrefOf('locks', { line: path })}>{countText(total - shownMax)} more</a>
        </p>
      )}
    </article>
  )
}

/** The state of a contender, in one word. */
export function wordOf({ holds }: Contender, line: Line, at: number): string {
  switch (groupOf(line)) {
    case 'queues':
      return at === 0 ? 'next' : `${at + 1}`
    case 'groups':
      return 'member'
    case 'elections':
      return holds ? 'leads' : `${at + 1}`
    default:
      return holds ? 'holds' : `waits`
  }
}

interface LineProps {
  readonly contender: Contender
  readonly line: Line
  readonly at: number
  readonly nowMs: number
}

function ContenderLine({ contender, line, at, nowMs }: LineProps) {
  const { node, holds, mode, id, session, token, since } = contender
  const group = groupOf(line)
  const isOwned = session !== '0x0'
  return (
    <li class={holds || (group === 'queues' && at === 0) ? 'holds' : ''}>
      <span class="badge">{wordOf(contender, line, at)}</span>
      <div>
        <a href={hrefOf('tree', { path: node })}>
          {id === null || id === '' ? node.split('/').at(-1) : id}
        </a>
        {mode !== null && <span class="muted"> to {mode}</span>}
        <div class="muted">
          {cameTexts[group]} {lastingText(nowMs - Date.parse(since))} ago
          {isOwned && (
            <>
              {', '}
              <a href={hrefOf('sessions', { id: session })}>{session}</a>
            </>
          )}
          {(group === 'locks' || group === 'elections' || group === 'semaphores') && (
            <>
              , token <code>{token}</code>
            </>
          )}
        </div>
      </div>
    </li>
  )
}
