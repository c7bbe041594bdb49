/**
 * The rows of a tree without an object for each: of a node with 300,000 children only those exist that
 * are in sight.
 */
import type { Node } from './node.ts'
import { parentOf } from './paths.ts'

/** The children of a znode, in their order; those that are not loaded are missing. */
export class Branch {
  total = 0
  /** Why the children are not shown. */
  problem: string | undefined
  private children: (Node | undefined)[] = []
  private readonly places = new Map<string, number>()

  /** Forgets what is loaded: the list is another one now. */
  clear(total: number): void {
    this.total = total
    this.children = []
    this.places.clear()
  }

  put(offset: number, nodes: readonly Node[]): void {
    for (const [at, node] of nodes.entries()) {
      this.children[offset + at] = node
      this.places.set(node.path, offset + at)
    }
    this.total = Math.max(this.total, offset + nodes.length)
  }

  at(index: number): Node | undefined {
    return this.children[index]
  }

  placeOf(path: string): number | undefined {
    return this.places.get(path)
  }

  /** Those that are loaded, by their places. */
  get loaded(): readonly (readonly [path: string, place: number])[] {
    return [...this.places]
  }
}

export interface Row {
  readonly path: string
  readonly depth: number
  readonly node: Node | undefined
  /** The placeholder of a znode: not loaded yet, or the reason why there is none. */
  readonly note?: 'loading' | 'problem'
  readonly text?: string
  /** Its place among its siblings, from 1. */
  readonly index: number
  readonly siblings: number
}

/** Rows beside each other: one, or children of one znode that are all closed. */
interface Run {
  readonly start: number
  readonly count: number
  readonly row: (offset: number) => Row
}
interface Span {
  readonly start: number
  readonly from: number
  readonly to: number
}

export class RowList {
  length = 0
  private readonly runs: Run[] = []
  private readonly open = new Map<string, number>()
  private readonly spans = new Map<string, Span[]>()
  private readonly branches: ReadonlyMap<string, Branch>

  constructor(
    root: Node | undefined,
    branches: ReadonlyMap<string, Branch>,
    expanded: ReadonlySet<string>,
  ) {
    this.branches = branches
    const openBelow = new Map<string, string[]>()
    for (const path of expanded) {
      if (path === '/' || !branches.has(path)) continue
      const parent = parentOf(path)
      openBelow.set(parent, [...(openBelow.get(parent) ?? []), path])
    }
    const add = (
      path: string,
      node: Node | undefined,
      depth: number,
      place: number,
      siblings: number,
    ): void => {
      this.open.set(path, this.length)
      this.run(1, () => ({ path, node, depth, index: place + 1, siblings }))
      const branch = branches.get(path)
      if (branch === undefined || !expanded.has(path)) return
      const places = (openBelow.get(path) ?? [])
        .flatMap((child) => branch.placeOf(child) ?? [])
        .toSorted((a, b) => a - b)
      let from = 0
      for (const at of places) {
        this.children(path, branch, depth + 1, from, at)
        const child = branch.at(at)!
        add(child.path, child, depth + 1, at, branch.total)
        from = at + 1
      }
      this.children(path, branch, depth + 1, from, branch.total)
      const { problem, total } = branch
      if (problem === undefined) return
      const last = { path, node: undefined, depth: depth + 1, index: total + 1, siblings: total }
      this.run(1, () => ({ ...last, note: 'problem', text: problem }))
    }
    add('/', root, 0, 0, 1)
  }

  private children(parent: string, branch: Branch, depth: number, from: number, to: number): void {
    if (to <= from) return
    const spans = this.spans.get(parent) ?? []
    spans.push({ start: this.length, from, to })
    this.spans.set(parent, spans)
    this.run(to - from, (offset) => {
      const place = from + offset
      const node = branch.at(place)
      const rest = { depth, index: place + 1, siblings: branch.total }
      return node === undefined
        ? { path: parent, node, note: 'loading', ...rest }
        : { path: node.path, node, ...rest }
    })
  }

  private run(count: number, row: Run['row']): void {
    this.runs.push({ start: this.length, count, row })
    this.length += count
  }

  at(index: number): Row | undefined {
    if (index < 0 || index >= this.length) return undefined
    let low = 0
    let high = this.runs.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.runs[middle]!.start <= index) low = middle
      else high = middle - 1
    }
    const { start, row } = this.runs[low]!
    return row(index - start)
  }

  slice(from: number, to: number): readonly Row[] {
    const rows: Row[] = []
    for (let at = Math.max(0, from); at < Math.min(to, this.length); at++) rows.push(this.at(at)!)
    return rows
  }

  /** Where a znode is; -1 where it has no row, or is not loaded. */
  indexOf(path: string): number {
    const open = this.open.get(path)
    if (open !== undefined) return open
    const parent = parentOf(path)
    const place = this.branches.get(parent)?.placeOf(path)
    if (place === undefined) return -1
    const span = this.spans.get(parent)?.find(({ from, to }) => place >= from && place < to)
    return span === undefined ? -1 : span.start + place - span.from
  }
}
