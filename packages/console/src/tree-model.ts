/** What of a tree is loaded, and which of it is shown: of the tree as it is, or as it was. */
import { computed, signal } from '@preact/signals'
import { ApiError, get, type Children, type Node } from './api.ts'
import { joinPath, nameOf, parentOf } from './paths.ts'
import type { Change } from './state.ts'

const pageSize = 500
const litMs = 1600
const refreshMs = 400

export interface Branch {
  readonly total: number
  readonly children: readonly Node[]
  /** Why the children are not shown. */
  readonly problem?: string
}

export interface Row {
  readonly path: string
  readonly depth: number
  readonly node: Node | undefined
  /** What stands in place of children: that there are more, or why there are none. */
  readonly note?: 'more' | 'problem'
  readonly text?: string
  readonly index: number
  readonly siblings: number
}

/** Where a tree comes from. */
export interface TreeSource {
  children(path: string, offset: number, limit: number): Promise<Children>
  node(path: string): Promise<Node>
}

export class TreeModel {
  readonly branches = signal<ReadonlyMap<string, Branch>>(new Map())
  readonly expanded = signal<ReadonlySet<string>>(new Set(['/']))
  readonly root = signal<Node | undefined>(undefined)
  /** Paths that have just changed. */
  readonly lit = signal<ReadonlySet<string>>(new Set())
  readonly rows = computed<readonly Row[]>(() => this.rowsNow())
  private readonly source: TreeSource
  private readonly loading = new Set<string>()
  private readonly stale = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(source: TreeSource) {
    this.source = source
  }

  private rowsNow(): readonly Row[] {
    const made: Row[] = []
    const add = (
      path: string,
      node: Node | undefined,
      depth: number,
      index: number,
      siblings: number,
    ): void => {
      made.push({ path, depth, node, index, siblings })
      const branch = this.branches.value.get(path)
      if (!this.expanded.value.has(path) || branch === undefined) return
      const { children, total, problem } = branch
      for (const [at, child] of children.entries()) add(child.path, child, depth + 1, at + 1, total)
      const last = { path, node: undefined, depth: depth + 1, index: total, siblings: total }
      if (problem !== undefined) made.push({ ...last, note: 'problem', text: problem })
      else if (children.length < total) {
        const text = `${(total - children.length).toLocaleString('en-US')} more`
        made.push({ ...last, note: 'more', text })
      }
    }
    add('/', this.root.value, 0, 1, 1)
    return made
  }

  private put(path: string, branch: Branch): void {
    this.branches.value = new Map(this.branches.value).set(path, branch)
  }

  /** Loads the children that were loaded before, or the first page. */
  async load(path: string, count = pageSize): Promise<void> {
    if (this.loading.has(path)) return
    this.loading.add(path)
    try {
      const children: Node[] = []
      let total = 0
      do {
        const page = await this.source.children(path, children.length, pageSize)
        total = page.total
        children.push(...childrenIn(path, page))
        if (path === '/') this.root.value = page.node
        if (page.children.length + page.hidden.length === 0) break
      } while (children.length < Math.min(count, total))
      this.put(path, { total, children })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status === 0) return
      const known = this.branches.value.get(path)?.children ?? []
      const problem = error.code === 'noAuth' ? 'The ACL hides the children' : error.message
      // What is known of it by other ways stays.
      const children = error.code === 'noNode' ? [] : known
      this.put(path, { total: known.length, children, problem })
    } finally {
      this.loading.delete(path)
    }
  }

  async loadMore(path: string): Promise<void> {
    const branch = this.branches.value.get(path)
    if (branch === undefined || this.loading.has(path)) return
    this.loading.add(path)
    try {
      const page = await this.source.children(path, branch.children.length, pageSize)
      const known = new Set(branch.children.map((child) => child.path))
      const fresh = childrenIn(path, page).filter((child) => !known.has(child.path))
      this.put(path, { total: page.total, children: [...branch.children, ...fresh] })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    } finally {
      this.loading.delete(path)
    }
  }

  toggle(path: string, isOpen = !this.expanded.value.has(path)): void {
    const next = new Set(this.expanded.value)
    if (isOpen) next.add(path)
    else next.delete(path)
    this.expanded.value = next
    if (isOpen) void this.load(path)
  }

  /** Opens everything above a znode, so that it has a row, also where a parent hides its children. */
  async reveal(path: string): Promise<void> {
    const { branches, expanded } = this
    const parts = path.split('/').filter(Boolean)
    if (parts.length === 0 && !branches.value.has('/')) await this.load('/')
    let parent = '/'
    for (const part of parts) {
      const child = joinPath(parent, part)
      if (!expanded.value.has(parent)) expanded.value = new Set(expanded.value).add(parent)
      if (!branches.value.has(parent)) await this.load(parent)
      const branch = branches.value.get(parent)
      if (branch !== undefined && !branch.children.some((each) => each.path === child)) {
        const node = await this.source
          .node(child)
          .catch((fault: unknown) =>
            fault instanceof ApiError && fault.code === 'noAuth' ? hiddenNode(child) : undefined,
          )
        if (node === undefined) return
        const children = [...branch.children, node]
        this.put(parent, { ...branch, children, total: Math.max(branch.total, children.length) })
      }
      parent = child
    }
  }

  /** Marks what has changed, and loads it again where it is shown. */
  changed(changes: readonly Change[], isTruncated: boolean): void {
    const { branches, expanded, stale } = this
    for (const { path, type } of changes) {
      const parent = parentOf(path)
      if (branches.value.has(parent)) stale.add(parent)
      if (branches.value.has(path) && type !== 'changed') stale.add(path)
    }
    if (isTruncated) for (const path of expanded.value) stale.add(path)
    this.light(changes.map(({ path }) => path))
    this.timer ??= setTimeout(() => this.refresh(), refreshMs)
  }

  private refresh(): void {
    const { branches, expanded, stale } = this
    this.timer = undefined
    const paths = [...stale].filter((path) => expanded.value.has(path))
    for (const path of stale) if (!expanded.value.has(path)) this.forget(path)
    stale.clear()
    for (const path of paths) void this.load(path, branches.value.get(path)?.children.length)
  }

  loadAgain(): void {
    for (const path of this.expanded.value) this.stale.add(path)
    this.refresh()
  }

  private forget(path: string): void {
    const next = new Map(this.branches.value)
    if (next.delete(path)) this.branches.value = next
  }

  private light(paths: readonly string[]): void {
    const { lit } = this
    lit.value = new Set([...lit.value, ...paths])
    setTimeout(() => {
      const next = new Set(lit.value)
      for (const path of paths) next.delete(path)
      lit.value = next
    }, litMs)
  }
}

/** In the order of names, with those that may not be read. */
function childrenIn(parent: string, { children, hidden }: Children): readonly Node[] {
  if (hidden.length === 0) return children
  return [...children, ...hidden.map((name) => hiddenNode(joinPath(parent, name)))].toSorted(
    (a, b) => (a.name < b.name ? -1 : 1),
  )
}

function hiddenNode(path: string): Node {
  const zxids = { czxid: '', mzxid: '', pzxid: '', ctime: '', mtime: '' }
  const numbers = { version: 0, cversion: 0, aversion: 0, dataLength: 0, numChildren: 0 }
  const rest = { kind: 'persistent', ephemeralOwner: null, ttlMs: null, isHidden: true } as const
  return { path, name: nameOf(path), ...zxids, ...numbers, ...rest }
}

/** The tree as it is. */
export const liveTree = new TreeModel({
  children: (path, offset, limit) => get<Children>('/children', { path, offset, limit }),
  node: (path) => get<Node>('/node', { path }),
})
