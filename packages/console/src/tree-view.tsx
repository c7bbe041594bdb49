import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { search } from './api.ts'
import { Problem } from './dialog.tsx'
import { NodeView } from './node-view.tsx'
import { changeListeners, generation, go, mayRead, place } from './state.ts'
import {
  changed,
  expanded,
  lit,
  loadAgain,
  loadMore,
  reveal,
  rows,
  toggle,
  type Row,
} from './tree-model.ts'

const rowHeight = 28
const overscan = 12

export function TreeView() {
  const path = place.value.query.get('path') ?? '/'
  const connection = generation.value
  useEffect(() => {
    changeListeners.add(changed)
    return () => changeListeners.delete(changed)
  }, [])
  useEffect(() => {
    if (connection > 0) loadAgain()
  }, [connection])
  useEffect(() => {
    if (connection > 0) void reveal(path)
  }, [path, connection > 0])
  return (
    <div class="tree-view">
      <section class="tree-side" aria-label="Znodes">
        <Search top={path} />
        <Rows selected={path} />
      </section>
      <NodeView key={path} path={path} />
    </div>
  )
}

const select = (path: string): void => go('tree', { path })

function Rows({ selected }: { readonly selected: string }) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const all = rows.value
  const first = Math.max(0, Math.floor(top / rowHeight) - overscan)
  const shown = all.slice(first, Math.ceil((top + height) / rowHeight) + overscan)
  const more = shown.find(({ note }) => note === 'more')
  useEffect(() => {
    if (more !== undefined) void loadMore(more.path)
  }, [more?.path, more?.text])
  const at = all.findIndex(({ path, note }) => path === selected && note === undefined)
  useEffect(() => {
    const element = box.current
    if (element === null || at < 0) return
    const y = at * rowHeight
    if (y < element.scrollTop) element.scrollTop = y
    else if (y + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = y + rowHeight - element.clientHeight
    }
  }, [selected, at])
  const onKey = (event: KeyboardEvent): void => {
    const row = all[at]
    const move = (to: number, step: number): void => {
      for (let i = to; i >= 0 && i < all.length; i += step) {
        const found = all[i]
        if (found?.note === undefined && found !== undefined) return select(found.path)
      }
    }
    const isOpen = row !== undefined && expanded.value.has(row.path)
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(at + 1, 1),
      ArrowUp: () => move(at - 1, -1),
      Home: () => move(0, 1),
      End: () => move(all.length - 1, -1),
      PageDown: () => move(Math.min(all.length - 1, at + 15), -1),
      PageUp: () => move(Math.max(0, at - 15), 1),
      ArrowRight: () => {
        if (row === undefined) return
        if (isOpen) move(at + 1, 1)
        else toggle(row.path, true)
      },
      ArrowLeft: () => {
        if (row === undefined) return
        if (isOpen) toggle(row.path, false)
        else if (row.path !== '/') select(row.path.slice(0, row.path.lastIndexOf('/')) || '/')
      },
      Enter: () => row !== undefined && toggle(row.path),
    }
    const action = keys[event.key]
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  return (
    <div
      ref={box}
      class="rows"
      role="tree"
      aria-label="Tree of znodes"
      tabIndex={0}
      aria-activedescendant={at < 0 ? undefined : `row-${at}`}
      onKeyDown={onKey}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div
        role="presentation"
        style={{ height: `${all.length * rowHeight}px`, position: 'relative' }}
      >
        {shown.map((row, i) => (
          <RowLine
            key={`${row.path} ${row.note ?? ''}`}
            row={row}
            at={first + i}
            isSelected={first + i === at}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  readonly row: Row
  readonly at: number
  readonly isSelected: boolean
}

function RowLine({ row, at, isSelected }: RowProps) {
  const { path, node, depth, note, text } = row
  const style = { top: `${at * rowHeight}px`, paddingLeft: `${depth * 16 + 6}px` }
  if (note !== undefined) {
    return (
      <div class="row note" style={style} role="treeitem" aria-disabled="true">
        {text}
        {note === 'more' && ', loading as you scroll'}
      </div>
    )
  }
  const isOpen = expanded.value.has(path)
  const isHidden = node?.isHidden === true
  const hasChildren = node === undefined || isHidden || node.numChildren > 0
  return (
    <div
      id={`row-${at}`}
      class={`row ${isSelected ? 'selected' : ''} ${lit.value.has(path) ? 'lit' : ''}`}
      style={style}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={row.index}
      aria-setsize={row.siblings}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      onClick={() => select(path)}
      onDblClick={() => toggle(path)}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation()
          toggle(path)
        }}
      >
        {hasChildren ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <span class="name">{node?.name || '/'}</span>
      {node !== undefined && node.kind !== 'persistent' && <span class="badge">{node.kind}</span>}
      {isHidden && <span class="badge hidden-mark">hidden</span>}
      {node !== undefined && node.numChildren > 0 && (
        <span class="count">{node.numChildren.toLocaleString('en-US')}</span>
      )}
    </div>
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

function Search({ top }: { readonly top: string }) {
  const [text, setText] = useState('')
  const [inData, setInData] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const running = useRef(new AbortController())
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
    hits.value = []
    try {
      const query = { path: top, text, in: inData ? 'data' : 'path', limit: 500 }
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
  return (
    <form class="search" role="search" onSubmit={(event) => void start(event)}>
      <div class="line">
        <input
          type="search"
          aria-label={`Search below ${top}`}
          placeholder={`Search below ${top}`}
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
                <a href={`#/tree?${new URLSearchParams({ path }).toString()}`}>{path}</a>
                {excerpt !== undefined && <code>{excerpt}</code>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </form>
  )
}
