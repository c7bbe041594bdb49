import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, events, getFrom } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { countOf } from '../format.ts'
import { idle, nameOf, server, servers } from '../servers.ts'
import { amend, generation, go, place } from '../state.ts'

interface Line {
  readonly number: number
  readonly time: string
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
}

const levels = { info: 'All', warn: 'Warnings and errors', error: 'Errors' } as const
type Level = keyof typeof levels
const linesMax = 2000
const againMs = 2000

/** The last lines of the log of a server, and new ones as they are written. */
export function LogView() {
  const { query } = place.value
  const known = servers.value.length > 0 ? servers.value : [server.value]
  const one = known.find(({ id }) => id === query.get('of')) ?? idle.value?.server ?? server.value
  const level = (query.get('level') ?? 'info') as Level
  const text = query.get('text') ?? ''
  const { lines, isLive, error } = useLog(one.origin, level in levels ? level : 'info')
  const shown = lines.filter(({ message }) => message.toLowerCase().includes(text.toLowerCase()))
  const queryWith = (name: string, value: string): Record<string, string> => {
    const { [name]: _, ...rest } = Object.fromEntries(query)
    return { ...rest, show: 'log', ...(value === '' ? {} : { [name]: value }) }
  }
  const show = (name: string, value: string): void => go('ensemble', queryWith(name, value))
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    // New lines do not scroll the page while older ones are read.
    if (isAtEnd.current) end.current?.scrollTo(0, end.current.scrollHeight)
  }, [shown.length, shown.at(-1)?.number])
  return (
    <>
      <div class="line">
        <h2 class="grow">Log of {nameOf(one)}</h2>
        {known.length > 1 && (
          <div class="choices" role="group" aria-label="Log of">
            {known.map(({ id = '' }) => (
              <button
                key={id}
                type="button"
                aria-pressed={id === one.id}
                onClick={() => show('of', id)}
              >
                Server {id}
              </button>
            ))}
          </div>
        )}
      </div>
      <div class="line">
        <div class="choices" role="group" aria-label="Level">
          {(Object.keys(levels) as Level[]).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === level}
              onClick={() => show('level', each === 'info' ? '' : each)}
            >
              {levels[each]}
            </button>
          ))}
        </div>
        <input
          class="grow"
          type="search"
          placeholder="Lines that contain"
          aria-label="Lines that contain"
          value={text}
          onInput={(event) => amend('ensemble', queryWith('text', event.currentTarget.value))}
        />
        <span class={isLive ? 'live-mark on' : 'live-mark'}>
          <span class="dot" aria-hidden="true" />
          {isLive ? 'lines appear as they are written' : 'not live'}
        </span>
      </div>
      <Problem error={error} />
      <div
        ref={end}
        class="log"
        role="log"
        aria-label="Lines"
        aria-live="off"
        tabIndex={0}
        onScroll={({ currentTarget: box }) => {
          isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40
        }}
      >
        {shown.map(({ number, time, level: of, message }) => (
          <div key={number} class={`log-line ${of}`}>
            <time dateTime={time}>{time.slice(0, 23).replace('T', ' ')}</time>
            <span class="level">{of}</span>
            <span>{message}</span>
          </div>
        ))}
        {shown.length === 0 && error === undefined && (
          <p class="muted">
            {lines.length === 0 ? 'Nothing was logged at this level.' : 'No line contains this.'}
          </p>
        )}
      </div>
      <p class="muted">
        {countOf(shown.length, 'line')}
        {shown.length < lines.length && ` of ${countOf(lines.length, 'line')}`}. A server keeps its
        last {linesMax.toLocaleString('en-US')} lines in memory. Times are UTC.
      </p>
    </>
  )
}

interface Log {
  readonly lines: readonly Line[]
  readonly isLive: boolean
  readonly error: unknown
}

const nothing: Log = { lines: [], isLive: false, error: undefined }

function useLog(origin: string, level: Level): Log {
  const [log, setLog] = useState<Log>(nothing)
  const connection = generation.value
  useEffect(() => {
    const over = new AbortController()
    const { signal } = over
    setLog(nothing)
    const add = (more: readonly Line[]): void => {
      setLog((before) => {
        const last = before.lines.at(-1)?.number ?? 0
        const fresh = more.filter(({ number }) => number > last)
        // A server that was started again begins with 1.
        const isOther = more.length > 0 && fresh.length === 0 && more.at(-1)!.number < last
        const lines = isOther ? more : [...before.lines, ...fresh]
        return { ...before, lines: lines.slice(-linesMax), error: undefined }
      })
    }
    const load = async (): Promise<void> => {
      const query = { level, limit: linesMax }
      add((await getFrom<{ lines: Line[] }>(origin, '/log', query)).lines)
    }
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          // Without a leader a server has no streams, but its log is what matters then.
          await load()
          for await (const { event, data } of events({ log: level }, { origin, signal })) {
            if (event === 'ready') {
              setLog((before) => ({ ...before, isLive: true }))
              await load()
            } else if (event === 'log') add([data as Line])
          }
        } catch (fault) {
          const isAway = fault instanceof ApiError && fault.status === 0
          if (!signal.aborted && !isAway) setLog((before) => ({ ...before, error: fault }))
        }
        if (signal.aborted) return
        setLog((before) => ({ ...before, isLive: false }))
        await new Promise((resolve) => setTimeout(resolve, againMs))
      }
    }
    void follow()
    return () => over.abort()
  }, [origin, level, connection])
  return log
}
