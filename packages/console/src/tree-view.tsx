import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get, search } from './api.ts'
import { Problem } from './dialog.tsx'
import { favorites } from './stored-list.ts'
import { NodeView } from './node-view.tsx'
import {
  changeListeners,
  generation,
  go,
  hrefOf,
  mayRead,
  place,
  type ChangeListener,
} from './state.ts'
import { liveTree } from './tree-model.ts'
import { TreeRows } from './tree-rows.tsx'

export function TreeView() {
  const path = place.value.query.get('path') ?? '/'
  const connection = generation.value
  useEffect(() => {
    const listener: ChangeListener = (changes, isTruncated) =>
      liveTree.changed(changes, isTruncated)
    changeListeners.add(listener)
    return () => void changeListeners.delete(listener)
  }, [])
  useEffect(() => {
    if (connection > 0) liveTree.loadAgain()
  }, [connection])
  useEffect(() => {
    if (connection > 0) void liveTree.reveal(path)
  }, [path, connection > 0])
  return (
    <div class="tree-view">
      <section class="tree-side" aria-label="Znodes">
        <Search top={path} />
        <Favorites selected={path} />
        <TreeRows
          model={liveTree}
          selected={path}
          onSelect={(to) => go('tree', { path: to })}
          label="Tree of znodes"
        />
      </section>
      <NodeView key={path} path={path} />
    </div>
  )
}

function Favorites({ selected }: { readonly selected: string }) {
  if (favorites.items.value.length === 0) return null
  return (
    <nav class="favorites" aria-label="Favorites">
      {favorites.items.value.map((path) => (
        <a
          key={path}
          href={hrefOf('tree', { path })}
          aria-current={path === selected ? 'page' : undefined}
          title={path}
        >
          <span aria-hidden="true">★ </span>
          {path}
        </a>
      ))}
    </nav>
  )
}

interface Hit {
  readonly path: string
  readonly excerpt?: string
}
interface End {
  readonly done: true
  readonly isTruncated: boolean
  readonly hits: number
  readonly scanned: number
  readonly unreadable: number
}
const hits = signal<readonly Hit[] | undefined>(undefined)
const end = signal<End | undefined>(undefined)

/** Whether there is such a znode, also one that the user may not read: then it is shown. */
async function goToPath(text: string): Promise<boolean> {
  const path = text.trim().replace(/(.)\/+$/, '$1')
  try {
    await get('/node', { path })
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.code !== 'noAuth') return false
  }
  go('tree', { path })
  return true
}

function Search({ top }: { readonly top: string }) {
  const [text, setText] = useState('')
  const [inData, setInData] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const running = useRef(new AbortController())
  const field = useRef<HTMLInputElement>(null)
  const stop = (): void => {
    running.current.abort()
    hits.value = end.value = undefined
    setError(undefined)
  }
  const start = async (event: Event): Promise<void> => {
    event.preventDefault()
    stop()
    if (text === '') return
    running.current = new AbortController()
    const { signal: isOver } = running.current
    const isPath = text.startsWith('/')
    if (isPath && (await goToPath(text))) return
    if (isOver.aborted) return
    hits.value = []
    try {
      // A path begins at the root, wherever the user is.
      const query = { path: isPath ? '/' : top, text, in: inData ? 'data' : 'path', limit: 500 }
      for await (const line of search(query, isOver)) {
        if (isOver.aborted) return
        if ('done' in (line as object)) end.value = line as End
        else hits.value = [...(hits.value ?? []), line as Hit]
      }
      // A stream that breaks off ends like one that is complete, but for its last line.
      if (end.value === undefined) throw new Error('The search was interrupted; try again')
    } catch (fault) {
      if (!isOver.aborted) setError(fault)
    }
  }
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.matches('input,textarea,select')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      field.current?.select()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return (
    <form class="search" role="search" onSubmit={(event) => void start(event)}>
      <div class="line">
        <input
          ref={field}
          type="search"
          aria-label={`A path, or text to search below ${top}`}
          aria-keyshortcuts="/"
          placeholder={`A path, or text to search below ${top}`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button>Search</button>
      </div>
      {mayRead.value && (
        <label class="check">
          <input
            type="checkbox"
            checked={inData}
            onChange={(event) => setInData(event.currentTarget.checked)}
          />
          in the data
        </label>
      )}
      <Problem error={error} />
      {hits.value !== undefined && (
        <div class="hits">
          <p class="line">
            <span class="grow">
              {end.value === undefined
                ? `${hits.value.length} found so far`
                : `${end.value.hits} found in ${end.value.scanned.toLocaleString('en-US')} znodes` +
                  (end.value.isTruncated ? '; not all were searched' : '') +
                  (end.value.unreadable > 0 ? `; ${end.value.unreadable} hide their children` : '')}
            </span>
            <button type="button" onClick={stop}>
              Close
            </button>
          </p>
          <ul>
            {hits.value.map(({ path, excerpt }) => (
              <li key={path}>
                <a href={hrefOf('tree', { path })}>{path}</a>
                {excerpt !== undefined && <code>{excerpt}</code>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </form>
  )
}
