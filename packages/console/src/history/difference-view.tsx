import type { DifferenceJson, PastNodeJson } from '@zabra/protocol/http-api'
import { useEffect, useState } from 'preact/hooks'
import { get } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { bytesText, countText } from '../format.ts'
import { generation, go, mayRead, mayWrite, place } from '../state.ts'
import { versionsOf } from './links.ts'
import { extent } from './past.ts'
import { PathForm } from './path-form.tsx'
import { PointField } from './point-field.tsx'
import { RecentSpans } from './recent-spans.tsx'
import { stateAt, type State } from './state.ts'
import { StateDiff } from './state-diff.tsx'
import { UndeleteDialog } from './undelete-dialog.tsx'

const pageSize = 200
const unaskedBytesMax = 256 * 1024

interface Page {
  readonly from: string
  readonly to: string
  readonly total: number
  readonly differences: readonly DifferenceJson[]
  readonly isPartial: boolean
}

/** The differences of the tree between two points. */
export function DifferenceView() {
  const { query } = place.value
  const path = query.get('path') ?? '/'
  const from = query.get('from') ?? undefined
  const to = query.get('to') ?? undefined
  const show = (next: Readonly<Record<string, string | undefined>>): void => {
    const all = { show: 'difference', path, from, to, ...next }
    const given = Object.entries(all).filter(([, value]) => value !== undefined)
    go('history', Object.fromEntries(given) as Record<string, string>)
  }
  return (
    <>
      <form class="filter" onSubmit={(event) => event.preventDefault()}>
        <PathForm label="At and below" path={path} onChange={(next) => show({ path: next })} />
        <PointField
          label="From"
          value={from}
          placeholder="a zxid or a time"
          onChange={(next) => show({ from: next })}
        />
        <PointField
          label="To"
          value={to}
          placeholder="now"
          onChange={(next) => show({ to: next })}
        />
      </form>
      {from === undefined ? (
        <>
          <p class="muted">
            Say from when: a zxid, a time such as 08:15, or how long ago, such as 10 min.
          </p>
          <RecentSpans onChoose={(since) => show({ from: since, to: undefined })} />
        </>
      ) : (
        <Between key={`${path} ${from} ${to}`} path={path} from={from} to={to} />
      )}
    </>
  )
}

interface BetweenProps {
  readonly path: string
  readonly from: string
  readonly to: string | undefined
}

function Between({ path, from, to }: BetweenProps) {
  const [pages, setPages] = useState<readonly Page[]>([])
  const [error, setError] = useState<unknown>(undefined)
  const [open, setOpen] = useState<string | undefined>(undefined)
  const load = async (known: readonly Page[]): Promise<void> => {
    try {
      const last = known[0]?.to ?? to ?? (await extent()).last?.zxid ?? from
      const first = known[0]?.from ?? from
      const offset = known.reduce((sum, { differences }) => sum + differences.length, 0)
      const query = { path, from: first, to: last, offset, limit: pageSize }
      const page = await get<Page>('/history/diff', query)
      setPages([...known, page])
      setError(undefined)
    } catch (fault) {
      setError(fault)
    }
  }
  useEffect(() => void load([]), [generation.value])
  const [first] = pages
  if (first === undefined) {
    return error === undefined ? <p class="muted">Comparing</p> : <Problem error={error} />
  }
  const all = pages.flatMap(({ differences }) => differences)
  return (
    <section class="changes" aria-label="Differences">
      <h2>
        {first.total === 0
          ? 'Nothing is different'
          : `${countText(first.total)} znodes are different`}{' '}
        <small class="muted">
          after {first.from}, up to {first.to}
        </small>
      </h2>
      {first.isPartial && <p class="notice">There are other differences, which you may not see.</p>}
      <Problem error={error} />
      <ol class="differences">
        {all.map((each) => (
          <DifferenceLine
            key={each.path}
            difference={each}
            from={first.from}
            to={first.to}
            isOpen={open === each.path}
            onToggle={() => setOpen(open === each.path ? undefined : each.path)}
          />
        ))}
      </ol>
      {all.length < first.total && (
        <button type="button" onClick={() => void load(pages)}>
          {countText(first.total - all.length)} more
        </button>
      )}
    </section>
  )
}

interface LineProps {
  readonly difference: DifferenceJson
  readonly from: string
  readonly to: string
  readonly isOpen: boolean
  readonly onToggle: () => void
}

function DifferenceLine({ difference, from, to, isOpen, onToggle }: LineProps) {
  const { path, before, after, isDataChanged, isAclChanged, isRecreated } = difference
  const [isUndeleting, setUndeleting] = useState(false)
  const [kind, verb] =
    before === null
      ? (['create', 'came'] as const)
      : after === null
        ? (['delete', 'went'] as const)
        : (['set', 'changed'] as const)
  const what = [
    isRecreated && 'created again',
    isDataChanged && before !== null && after !== null && `data, ${bytesText(after.dataLength)}`,
    isAclChanged && 'ACL',
    (before === null || after === null) && bytesText((before ?? after)!.dataLength),
  ].filter(Boolean)
  return (
    <li class={`change ${kind}`}>
      <button type="button" class="summary" aria-expanded={isOpen} onClick={onToggle}>
        <span class={`verb ${kind}`}>{verb}</span>
        <span class="what">
          <span class="path">{path}</span> <span class="muted">{what.join(', ')}</span>
        </span>
      </button>
      {isOpen && (
        <div class="detail">
          <div class="line links">
            <a href={versionsOf(path)}>All versions</a>
            {after === null && mayWrite.value && (
              <button type="button" onClick={() => setUndeleting(true)}>
                Undelete
              </button>
            )}
          </div>
          {mayRead.value ? (
            <Both difference={difference} from={from} to={to} />
          ) : (
            <p class="muted">Your role does not show data.</p>
          )}
        </div>
      )}
      {isUndeleting && (
        <UndeleteDialog path={path} at={from} onClose={() => setUndeleting(false)} />
      )}
    </li>
  )
}

function Both({ difference, from, to }: Pick<LineProps, 'difference' | 'from' | 'to'>) {
  const { path, before, after } = difference
  const bytes = (before?.dataLength ?? 0) + (after?.dataLength ?? 0)
  const [isAsked, setAsked] = useState(bytes <= unaskedBytesMax)
  const [states, setStates] = useState<readonly [State | null, State | null] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    if (!isAsked) return
    const at = (node: PastNodeJson | null, point: string): Promise<State | null> =>
      node === null ? Promise.resolve(null) : stateAt(path, point)
    Promise.all([at(before, from), at(after, to)]).then(setStates, setError)
  }, [isAsked])
  if (!isAsked) {
    return (
      <p class="notice">
        These are {bytesText(bytes)} of data.{' '}
        <button type="button" onClick={() => setAsked(true)}>
          Load and compare them
        </button>
      </p>
    )
  }
  if (states === undefined) {
    return error === undefined ? <p class="muted">Loading</p> : <Problem error={error} />
  }
  return <StateDiff before={states[0]} after={states[1]} labels={[from, to]} />
}
