import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Problem } from '../dialog.tsx'
import { countText } from '../format.ts'
import { servers } from '../servers.ts'
import { generation, go, place } from '../state.ts'
import { ChangeLine } from './change-line.tsx'
import { keyOf } from './change.ts'
import { ChangeLog } from './change-log.ts'
import { learnClients } from './clients-elsewhere.ts'
import { filterIn, queryOf, type ChangeFilter } from './filter.ts'
import { FilterForm } from './filter-form.tsx'
import { dayText } from './points.ts'

/** The stream of changes, newest first: live at the top, and paged into the past. */
export function ChangesView() {
  const filter = filterIn(place.value.query)
  const key = JSON.stringify(filter)
  const connection = generation.value
  const [round, setRound] = useState(0)
  const log = useMemo(() => new ChangeLog(filter), [key, connection, round])
  useEffect(() => {
    log.start()
    return () => log.stop()
  }, [log])
  return (
    <>
      <FilterForm key={key} filter={filter} onChange={(next) => go('history', queryOf(next))} />
      <ChangeList log={log} filter={filter} onReload={() => setRound(round + 1)} />
    </>
  )
}

interface ListProps {
  readonly log: ChangeLog
  readonly filter: ChangeFilter
  readonly onReload: () => void
}

function ChangeList({ log, filter, onReload }: ListProps) {
  const [openKey, setOpenKey] = useState<string | undefined>(undefined)
  const end = useRef<HTMLDivElement>(null)
  const top = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (target === end.current && isIntersecting) void log.older()
          else if (target === top.current) {
            log.isAtTop = isIntersecting
            if (isIntersecting && !log.isReading && log.waiting.value.length > 0) log.release()
          }
        }
      },
      { rootMargin: '200px 0px' },
    )
    for (const each of [end.current, top.current]) if (each !== null) observer.observe(each)
    return () => observer.disconnect()
  }, [log])
  const changes = log.changes.value
  const known = servers.value
  useEffect(() => void learnClients(changes), [changes, known])
  const next = log.next.value
  const waiting = log.waiting.value.length
  log.isReading = openKey !== undefined
  // An empty page does not move the end, so the observer would not ask for the next one.
  useEffect(() => {
    const box = end.current?.getBoundingClientRect()
    if (typeof next === 'string' && box !== undefined && box.top < innerHeight + 200) {
      void log.older()
    }
  }, [next])
  return (
    <section class="changes" aria-label="Changes">
      <div ref={top} />
      <header class="line">
        <h2 class="grow">
          {next === undefined
            ? 'Changes'
            : `${countText(changes.length)}${next === null ? '' : ' or more'} ${changes.length === 1 ? 'change' : 'changes'}`}
        </h2>
        {filter.to === undefined && <Live log={log} />}
      </header>
      <Problem error={log.error.value} />
      {log.missed.value > 0 && (
        <p class="notice" role="status">
          {countText(log.missed.value)} changes were too many to be shown as they came.{' '}
          <button type="button" onClick={onReload}>
            Load them
          </button>
        </p>
      )}
      {waiting > 0 && (
        <button
          type="button"
          class="primary waiting"
          onClick={() => {
            setOpenKey(undefined)
            log.release()
            top.current?.scrollIntoView({ block: 'center' })
          }}
        >
          {countText(waiting)} new {waiting === 1 ? 'change' : 'changes'}
        </button>
      )}
      <ol onKeyDown={moveFocus}>
        {changes.map((change, at) => {
          const key = keyOf(change)
          const before = changes[at - 1]
          const isNewDay = before?.time.slice(0, 10) !== change.time.slice(0, 10)
          return (
            <ChangeLine
              key={key}
              change={change}
              day={isNewDay ? dayText(change.time) : undefined}
              isOfSameTransaction={before?.zxid === change.zxid}
              isFresh={log.fresh.value.has(key)}
              isOpen={openKey === key}
              onToggle={() => setOpenKey(openKey === key ? undefined : key)}
              filter={filter}
            />
          )
        })}
      </ol>
      <div ref={end} class="end muted">
        {log.isLoading.value
          ? 'Loading'
          : next === null
            ? changes.length === 0
              ? 'The history of this server has no such change.'
              : 'There is nothing older in the history, or the filter ends here.'
            : next !== undefined && (
                <button type="button" onClick={() => void log.older()}>
                  Older changes
                </button>
              )}
      </div>
    </section>
  )
}

/** The arrows move from change to change. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const list = event.currentTarget
  if (step === undefined || !(list instanceof HTMLElement)) return
  const lines = [...list.querySelectorAll<HTMLElement>('.summary')]
  const at = lines.findIndex((line) => line === document.activeElement)
  // Inside of an open change, the arrows scroll as everywhere.
  if (at < 0) return
  event.preventDefault()
  lines[at + step]?.focus()
}

function Live({ log }: { readonly log: ChangeLog }) {
  const isLive = log.isLive.value
  return (
    <span class={isLive ? 'live-mark on' : 'live-mark'}>
      <span class="dot" aria-hidden="true" />
      {isLive ? 'changes appear as they happen' : 'not live'}
    </span>
  )
}
