import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { bytesText, lastingText } from '../format.ts'
import { hrefOf, mayRead, mayWrite } from '../state.ts'
import { queryOf, type ChangeFilter } from './filter.ts'
import { differenceOf, momentOf, changesOf, versionsOf } from './links.ts'
import { verbOf, type PastChange } from './change.ts'
import { byText } from './clients-elsewhere.ts'
import { clockText, zxidBefore } from './points.ts'
import { StepDiff } from './step-diff.tsx'
import { UndeleteDialog } from './undelete-dialog.tsx'

interface Props {
  readonly change: PastChange
  /** The day, on its first line. */
  readonly day: string | undefined
  readonly isOfSameTransaction: boolean
  readonly isFresh: boolean
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly filter: ChangeFilter
}

export function ChangeLine(props: Props) {
  const { change, day, isOfSameTransaction, isFresh, isOpen, onToggle, filter } = props
  const { zxid, part, parts, path, session } = change
  const by = byText(change)
  return (
    <>
      {day !== undefined && <li class="day">{day}, UTC</li>}
      <li
        class={`change ${change.kind} ${isOfSameTransaction ? 'same' : ''} ${isFresh ? 'fresh' : ''}`}
      >
        <button type="button" class="summary" aria-expanded={isOpen} onClick={onToggle}>
          <time dateTime={change.time}>{clockText(change.time)}</time>
          <span class={`verb ${change.kind} ${change.cause ?? ''}`}>{verbOf(change)}</span>
          <span class="what">
            {path !== null && <span class="path">{path}</span>}{' '}
            <span class="muted">{detailText(change)}</span>
          </span>
          <span class="by muted">{by ?? session ?? ''}</span>
          <span class="zxid muted">
            {zxid}
            {parts > 1 && (
              <small>
                {' '}
                {part + 1}/{parts}
              </small>
            )}
          </span>
        </button>
        {isOpen && <Detail change={change} filter={filter} />}
      </li>
    </>
  )
}

/** Details of a change, without its path. */
export function detailText(change: PastChange): string {
  const { kind, version, dataLength, nodeKind, ttlMs, cause, timeoutMs, session } = change
  switch (kind) {
    case 'create': {
      const bytes = bytesText(dataLength ?? 0)
      if (nodeKind === 'ttl') return `with a TTL of ${lastingText(ttlMs ?? 0)}, ${bytes}`
      return nodeKind === 'persistent' || nodeKind === null ? bytes : `${nodeKind}, ${bytes}`
    }
    case 'set':
    case 'reconfig':
      return `version ${version}, ${bytesText(dataLength ?? 0)}`
    case 'acl':
      return `ACL version ${version}`
    case 'delete':
      if (cause === 'sessionEnd') return 'with its session'
      return cause === 'reclaimed' ? 'by the server: its time was over, or it was empty' : ''
    case 'openSession':
      return `session ${session ?? ''}, timeout ${lastingText(timeoutMs ?? 0)}`
    case 'closeSession':
      return `session ${session ?? ''}`
  }
}

function Detail({
  change,
  filter,
}: {
  readonly change: PastChange
  readonly filter: ChangeFilter
}) {
  const { path, zxid, kind, session, parts, part } = change
  const [isUndeleting, setUndeleting] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [])
  const facts: (readonly [string, ComponentChildren])[] = [
    ['Time', `${change.time.replace('T', ' ').replace('Z', '')} UTC, by the clock of the leader`],
    ['Transaction', parts > 1 ? `${zxid}, part ${part + 1} of ${parts}` : zxid],
    ['Session', session ?? 'not shown: an id can be enough to take a live session over'],
    ['Client', byText(change) ?? 'not known to any server now'],
  ]
  return (
    <div class="detail" ref={box}>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="line links">
        {path !== null && (
          <>
            <a href={hrefOf('tree', { path })}>Znode as it is now</a>
            <a href={versionsOf(path, zxid)}>All versions</a>
            <a href={momentOf(zxid, path)}>Tree right after</a>
            <a href={momentOf(zxidBefore(zxid), path)}>Tree right before</a>
          </>
        )}
        {parts > 1 && <a href={differenceOf(zxidBefore(zxid), zxid)}>The whole transaction</a>}
        {session !== null && filter.session !== session && (
          <a href={changesOf(queryOf({ ...filter, path: '', isExact: false, session }))}>
            All of this session
          </a>
        )}
        {kind === 'closeSession' && change.cause === 'expired' && session !== null && (
          <a href={hrefOf('sessions', { show: 'ended', id: session })}>Why it expired</a>
        )}
        {path !== null && filter.path !== path && (
          <a href={changesOf(queryOf({ ...filter, path }))}>Only here and below</a>
        )}
        {path !== null && kind === 'delete' && mayWrite.value && (
          <button type="button" onClick={() => setUndeleting(true)}>
            Undelete
          </button>
        )}
      </div>
      {path !== null &&
        (mayRead.value ? (
          <StepDiff path={path} zxid={zxid} />
        ) : (
          <p class="muted">Your role does not show data.</p>
        ))}
      {isUndeleting && path !== null && (
        <UndeleteDialog path={path} at={zxidBefore(zxid)} onClose={() => setUndeleting(false)} />
      )}
    </div>
  )
}
