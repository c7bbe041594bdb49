import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { generation, go, hrefOf, place } from '../state.ts'
import { TreeModel } from '../tree-model.ts'
import { TreeRows } from '../tree-rows.tsx'
import { neighbor } from './change-log.ts'
import { differenceOf, changesOf } from './links.ts'
import type { ChangePage } from './change.ts'
import { extent, pastSource, zxidAt, type Extent } from './past.ts'
import { PastNodeView } from './past-node-view.tsx'
import { PointField } from './point-field.tsx'
import { isZxid, zxidAfter } from './points.ts'
import { TimeSlider } from './time-slider.tsx'
import type { Span } from './timeline.ts'

/** A moment of the past that is loaded. */
interface Shown {
  readonly zxid: string
  /** Of the transaction, or the one that was asked for; undefined if no change says it. */
  readonly timeMs: number | undefined
  readonly model: TreeModel
}

/** The time that history covers. */
interface Reach {
  readonly extent: Extent
  readonly span: Span
}

/** The tree as it was, with a slider over the time that history holds. */
export function MomentView() {
  const { query } = place.value
  const at = query.get('at') ?? undefined
  const path = query.get('path') ?? '/'
  const [reach, setReach] = useState<Reach | undefined>(undefined)
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [isLoading, setLoading] = useState(false)
  const [stepError, setStepError] = useState<unknown>(undefined)
  const connection = generation.value
  useEffect(() => {
    loadReach().then(setReach, setError)
  }, [connection])
  const expanded = useRef<ReadonlySet<string>>(new Set(['/']))
  useEffect(() => {
    const last = reach?.extent.last
    if (reach === undefined || last == null) return
    let isHere = true
    setLoading(true)
    if (shown !== undefined) expanded.current = shown.model.expanded.value
    load(at ?? last.zxid, path, expanded.current)
      .then(
        (found) => {
          if (!isHere) return
          setShown(found)
          setError(undefined)
        },
        (fault: unknown) => isHere && setError(fault),
      )
      .finally(() => isHere && setLoading(false))
    return () => void (isHere = false)
  }, [at, reach])
  useEffect(() => void shown?.model.reveal(path), [shown, path])
  const show = (next: string | undefined, to = path): void =>
    go('history', { show: 'moment', ...(next === undefined ? {} : { at: next }), path: to })
  const step = async (isLater: boolean): Promise<void> => {
    if (shown === undefined) return
    try {
      const found = await neighbor('/', shown.zxid, isLater)
      setStepError(
        found === undefined ? `There is no ${isLater ? 'later' : 'earlier'} change.` : undefined,
      )
      if (found !== undefined) show(found.zxid)
    } catch (fault) {
      setStepError(fault)
    }
  }
  if (reach === undefined) {
    return error === undefined ? <p class="muted">Loading</p> : <Problem error={error} />
  }
  const last = reach.extent.last
  if (last === null) return <p class="muted">History holds nothing yet.</p>
  const isNewest = shown?.zxid === last.zxid
  return (
    <>
      <section class="time-machine" aria-label="When">
        <TimeSlider
          span={reach.span}
          atMs={shown === undefined ? reach.span.toMs : (shown.timeMs ?? reach.span.fromMs)}
          onChange={(timeMs) =>
            show(timeMs >= reach.span.toMs ? undefined : new Date(timeMs).toISOString())
          }
        />
        <div class="line">
          <button type="button" onClick={() => void step(false)}>
            ‹ Earlier change
          </button>
          <button type="button" disabled={isNewest} onClick={() => void step(true)}>
            Later change ›
          </button>
          <PointField
            label="At"
            value={at}
            placeholder="a zxid or a time"
            onChange={(next) => show(next)}
          />
          <span class="grow" />
          {shown !== undefined && (
            <span class="line links">
              <a href={changesOf({ to: shown.zxid })}>Changes up to then</a>
              <a href={differenceOf(shown.zxid, undefined, path)}>What is different now</a>
            </span>
          )}
        </div>
        <Problem error={stepError} />
        <Problem error={error} />
      </section>
      {shown !== undefined && (
        <div class="past">
          <p class="past-banner" role="status">
            <strong>
              The past{shown.timeMs !== undefined && `, as of ${timeText(shown.timeMs)} UTC`}
            </strong>{' '}
            <code>{shown.zxid}</code>
            {isNewest && ' (the last transaction when this was loaded)'}
            <span class="grow">{isLoading ? ' Loading' : ' Nothing can be changed here.'}</span>
            <a href={hrefOf('tree', { path })}>Back to now</a>
          </p>
          <div class="tree-view">
            <section class="tree-side" aria-label="Znodes then">
              <TreeRows
                model={shown.model}
                selected={path}
                onSelect={(to) => show(at, to)}
                label="Tree of znodes then"
              />
            </section>
            <PastNodeView key={`${shown.zxid} ${path}`} path={path} at={shown.zxid} />
          </div>
        </div>
      )}
    </>
  )
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('T', ' ').slice(0, 23)
}

async function loadReach(): Promise<Reach> {
  const found = await extent()
  const { first, last, oldestTree } = found
  let fromMs = first === null ? 0 : Date.parse(first.time)
  if (oldestTree !== null) {
    // Trees can be shown from the oldest snapshot on, which can be later than the oldest change.
    const query = { from: oldestTree, oldestFirst: true, limit: 1 }
    const { changes } = await get<ChangePage>('/history/changes', query)
    if (changes[0] !== undefined) fromMs = Math.max(fromMs, Date.parse(changes[0].time))
  }
  return { extent: found, span: { fromMs, toMs: last === null ? fromMs : Date.parse(last.time) } }
}

async function load(point: string, path: string, expanded: ReadonlySet<string>): Promise<Shown> {
  const zxid = await zxidOf(point, path)
  const timeMs = isZxid(point) ? await timeOfZxid(zxid) : Date.parse(point)
  const model = new TreeModel(pastSource(zxid))
  model.expanded.value = expanded
  // One after the other: a server answers only a few such questions at a time.
  for (const each of [...expanded].toSorted((a, b) => a.length - b.length)) await model.load(each)
  return { zxid, timeMs, model }
}

async function zxidOf(point: string, path: string): Promise<string> {
  try {
    return await zxidAt(point, '/')
  } catch (fault) {
    // Somebody who may not see the root may see the znode.
    if (!(fault instanceof ApiError) || fault.code !== 'noAuth') throw fault
    return zxidAt(point, path)
  }
}

/** The time of the last change up to a transaction: its own, where it is shown. */
async function timeOfZxid(zxid: string): Promise<number | undefined> {
  const change = await neighbor('/', zxidAfter(zxid), false)
  return change && Date.parse(change.time)
}
