import { useEffect, useRef, useState } from 'preact/hooks'
import { parentOf } from './paths.ts'
import type { Row } from './tree-list.ts'
import type { TreeModel } from './tree-model.ts'

const rowHeight = 28
const overscan = 12
/** Rows that are only passed by, as somebody scrolls, are not loaded. */
const restMs = 60

interface Props {
  readonly model: TreeModel
  readonly selected: string
  readonly onSelect: (path: string) => void
  readonly label: string
}

/** A tree as rows, of which only those in sight are in the page. */
export function TreeRows({ model, selected, onSelect: select, label }: Props) {
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
  const all = model.rows.value
  const first = Math.max(0, Math.floor(top / rowHeight) - overscan)
  const shown = all.slice(first, Math.ceil((top + height) / rowHeight) + overscan)
  useEffect(() => {
    const timer = setTimeout(() => model.show(rangesOf(shown)), restMs)
    return () => clearTimeout(timer)
  }, [model, all, first, height])
  const at = all.indexOf(selected)
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
    const row = all.at(at)
    const move = (to: number, step: number): void => void moveTo(model, to, step, select)
    const isOpen = row !== undefined && model.expanded.value.has(row.path)
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
        else model.toggle(row.path, true)
      },
      ArrowLeft: () => {
        if (row === undefined) return
        if (isOpen) model.toggle(row.path, false)
        else if (row.path !== '/') select(parentOf(row.path))
      },
      Enter: () => row !== undefined && model.toggle(row.path),
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
      aria-label={label}
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
            key={row.note === undefined ? row.path : `${row.path} ${row.note} ${row.index}`}
            model={model}
            onSelect={select}
            row={row}
            at={first + i}
            isSelected={first + i === at}
          />
        ))}
      </div>
    </div>
  )
}

/** Selects the row, or the next one that is a znode; loads it first where that is needed. */
async function moveTo(
  model: TreeModel,
  to: number,
  step: number,
  select: (path: string) => void,
): Promise<void> {
  const wanted = model.rows.value.at(to)
  if (wanted?.note === 'loading') await model.loadAt(wanted.path, wanted.index - 1)
  const all = model.rows.value
  for (let at = to; at >= 0 && at < all.length; at += step) {
    const found = all.at(at)!
    if (found.note === 'loading') return
    if (found.note === undefined) return select(found.path)
  }
}

/** Which children of which znodes are in sight. */
function rangesOf(
  shown: readonly Row[],
): ReadonlyMap<string, { readonly from: number; readonly to: number }> {
  const ranges = new Map<string, { from: number; to: number }>()
  for (const { path, note, index } of shown) {
    if (note === 'problem' || (note === undefined && path === '/')) continue
    const parent = note === 'loading' ? path : parentOf(path)
    const range = ranges.get(parent)
    if (range === undefined) ranges.set(parent, { from: index - 1, to: index })
    else {
      range.from = Math.min(range.from, index - 1)
      range.to = Math.max(range.to, index)
    }
  }
  return ranges
}

interface RowProps {
  readonly model: TreeModel
  readonly onSelect: (path: string) => void
  readonly row: Row
  readonly at: number
  readonly isSelected: boolean
}

function RowLine({ model, onSelect, row, at, isSelected }: RowProps) {
  const { path, node, depth, note, text } = row
  const style = { top: `${at * rowHeight}px`, paddingLeft: `${depth * 16 + 6}px` }
  if (note !== undefined) {
    const isLoading = note === 'loading'
    return (
      <div
        class="row note"
        style={style}
        role="treeitem"
        aria-level={depth + 1}
        aria-posinset={isLoading ? row.index : undefined}
        aria-setsize={isLoading ? row.siblings : undefined}
        aria-disabled="true"
      >
        {isLoading ? 'loading' : text}
      </div>
    )
  }
  const isOpen = model.expanded.value.has(path)
  const isHidden = node?.isHidden === true
  const hasChildren = node === undefined || isHidden || node.numChildren > 0
  return (
    <div
      id={`row-${at}`}
      class={`row ${isSelected ? 'selected' : ''} ${model.lit.value.has(path) ? 'lit' : ''}`}
      style={style}
      role="treeitem"
      aria-level={depth + 1}
      aria-posinset={row.index}
      aria-setsize={row.siblings}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      onClick={() => onSelect(path)}
      onDblClick={() => model.toggle(path)}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation()
          model.toggle(path)
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
