import { useEffect, useState } from 'preact/hooks'
import { ApiError, get } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { clockText, countText, lastingText, preciseText } from '../format.ts'
import { generation, hrefOf, mayRead } from '../state.ts'
import { Table } from '../table.tsx'
import { wordOf } from './line-card.tsx'
import type { Line } from './lines.ts'
import { tenuresIn, type Coming, type Tenure } from './tenures.ts'

interface Props {
  readonly path: string
  /** Undefined where nobody contends for it now. */
  readonly line: Line | undefined
  readonly nowMs: number
}

/** One line with all its contenders, and who held it before. */
export function LineDetail({ path, line, nowMs }: Props) {
  const isExclusive = line === undefined || ['lock', 'simple lock', 'election'].includes(line.kind)
  const past = usePast(path, line, isExclusive)
  const [current] = past?.tenures ?? []
  const heldSince =
    current !== undefined && current.toMs === undefined && current.waitedMs !== undefined
      ? current
      : undefined
  return (
    <>
      <div class="line">
        <a href={hrefOf('locks')}>All locks</a>
        <h2 class="grow">{path}</h2>
        <a href={hrefOf('tree', { path })}>Show in the tree</a>
      </div>
      {line === undefined ? (
        <p class="empty">Nobody holds it or waits for it now.</p>
      ) : (
        <>
          <p class="muted">
            {line.kind}, {countText(line.total)} in all
            {line.contenders.length < line.total &&
              `; the first ${countText(line.contenders.length)} are shown`}
            {heldSince !== undefined &&
              `; held since ${clockText(heldSince.fromMs)} UTC, for ${lastingText(nowMs - heldSince.fromMs)}`}
          </p>
          {line.hidden > 0 && (
            <p class="notice">
              {countText(line.hidden)} more are hidden by their ACLs: one of them may hold it.
            </p>
          )}
          <Contenders line={line} nowMs={nowMs} />
        </>
      )}
      {isExclusive && <Past past={past} nowMs={nowMs} />}
    </>
  )
}

function Contenders({ line, nowMs }: { readonly line: Line; readonly nowMs: number }) {
  const columns = ['State', 'Name', 'Queued (UTC)', 'Ago', 'Session', 'Token', 'Znode']
  return (
    <Table label="In line" columns={columns}>
      {line.contenders.map((each, at) => {
        const { node, holds, mode, id, session, token, since } = each
        return (
          <tr key={node} class={holds ? 'holds' : ''}>
            <td>
              <span class="badge">{wordOf(each, line, at)}</span>
              {mode !== null && <span class="muted"> to {mode}</span>}
            </td>
            <th scope="row">{id === null || id === '' ? '–' : id}</th>
            <td>{clockText(Date.parse(since))}</td>
            <td>{lastingText(nowMs - Date.parse(since))}</td>
            <td>
              {session === '0x0' ? (
                'none'
              ) : (
                <a href={hrefOf('sessions', { id: session })}>{session}</a>
              )}
            </td>
            <td>
              <code>{token}</code>
            </td>
            <td class="path">
              <a href={hrefOf('tree', { path: node })}>
                {node.slice(line.path.length).replace(/^\//, '')}
              </a>
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

const pageSize = 500

interface PastOf {
  readonly tenures: readonly Tenure[]
  /** The history before is not looked at. */
  readonly isCut: boolean
  readonly problem?: string
}

/** The past holders, as far as one page of history reaches back. */
function usePast(path: string, line: Line | undefined, isWanted: boolean): PastOf | undefined {
  const [past, setPast] = useState<PastOf | undefined>(undefined)
  const connection = generation.value
  const first = line?.contenders[0]?.node
  useEffect(() => {
    if (!isWanted) return undefined
    let isHere = true
    const query = {
      path,
      kinds: 'create,delete',
      limit: pageSize,
      ...(mayRead.value ? { data: true } : {}),
    }
    get<{ changes: readonly Coming[]; next: string | null }>('/history/changes', query).then(
      ({ changes, next }) => {
        if (!isHere) return
        const depth = path.split('/').length + (path === '/' ? 0 : 1)
        const own = changes.filter((each) => each.path?.split('/').length === depth).toReversed()
        const current = (line?.contenders ?? []).map(({ node, session, id }) => ({
          node,
          session,
          id,
        }))
        setPast({ tenures: tenuresIn(own, current), isCut: next !== null })
      },
      (fault: unknown) => {
        if (!isHere || (fault instanceof ApiError && fault.status === 0)) return
        const problem =
          fault instanceof ApiError && fault.status === 501
            ? 'This server keeps no history.'
            : (fault as Error).message
        setPast({ tenures: [], isCut: false, problem })
      },
    )
    return () => {
      isHere = false
    }
  }, [path, first, connection, isWanted])
  return past
}

const tenuresMax = 50

function Past({ past, nowMs }: { readonly past: PastOf | undefined; readonly nowMs: number }) {
  if (past === undefined) return null
  const { tenures, isCut, problem } = past
  return (
    <section class="stack" aria-labelledby="past-title">
      <h2 id="past-title">Who held it</h2>
      <Problem error={problem} />
      {tenures.length > 0 && (
        <Table
          label="Holders so far"
          columns={['From (UTC)', 'For', 'Waited', 'Name', 'Session', 'Ended']}
        >
          {tenures.slice(0, tenuresMax).map((each) => {
            const { node, session, id, fromMs, toMs, waitedMs, isLost } = each
            return (
              <tr key={`${node} ${fromMs}`} class={toMs === undefined ? 'holds' : ''}>
                <td>{waitedMs === undefined ? 'before that' : clockText(fromMs)}</td>
                <td>{waitedMs === undefined ? '–' : preciseText((toMs ?? nowMs) - fromMs)}</td>
                <td>{waitedMs === undefined ? '–' : preciseText(waitedMs)}</td>
                <th scope="row">{id === null || id === '' ? node.split('/').at(-1) : id}</th>
                <td>{session ?? '–'}</td>
                <td>
                  {toMs === undefined ? (
                    <span class="badge">holds</span>
                  ) : isLost ? (
                    <span class="warning">its session ended</span>
                  ) : (
                    'given back'
                  )}
                </td>
              </tr>
            )
          })}
        </Table>
      )}
      {problem === undefined && (
        <p class="muted">
          {tenures.length === 0 && 'The history of this server knows no holder. '}
          {tenures.length > tenuresMax && `The last ${tenuresMax} are shown. `}
          {isCut && 'Only the last changes were looked at: there were holders before.'}
        </p>
      )}
    </section>
  )
}
