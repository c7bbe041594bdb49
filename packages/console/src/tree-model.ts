/** The loaded and shown parts of a tree, as it is or as it was. */
import { computed, signal } from '@preact/signals'
import { ApiError, get, type Children, type Node } from './api.ts'
import { joinPath, nameOf, parentOf } from './paths.ts'
import type { Change } from './state.ts'
import { Branch, RowList } from './tree-list.ts'

const pageSize = 500
const litMs = 1600
const refreshMs = 400

/** Where a tree comes from. */
export interface TreeSource {
  children(path: string, offset: number, limit: number): Promise<Children>
  node(path: string): Promise<Node>
}

interface Range {
  readonly from: number
  readonly to: number
}

export class TreeModel {
  readonly branches = signal<ReadonlyMap<string, Branch>>(new Map())
  readonly expanded = signal<ReadonlySet<string>>(new Set(['/']))
  readonly root = signal<Node | undefined>(undefined)
  /** Paths that have just changed. */
  readonly lit = signal<ReadonlySet<string>>(new Set())
  readonly rows = computed(
    () => new RowList(this.root.value, this.branches.value, this.expanded.value),
  )
  private readonly source: TreeSource
  /** Which places among the children of a znode are in sight: only these are kept up to date. */
  private inSight: ReadonlyMap<string, Range> = new Map()
  private readonly loading = new Map<string, Promise<void>>()
  private readonly stale = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(source: TreeSource) {
    this.source = source
  }

  private put(path: string, branch: Branch): void {
    this.branches.value = new Map(this.branches.value).set(path, branch)
  }

  /** Loads the children that are in sight, or the first ones. */
  load(path: string): Promise<void> {
    const { from, to } = this.inSight.get(path) ?? { from: 0, to: 1 }
    return this.loadPages(path, from, to, true)
  }

  /** Loads children that were not loaded. */
  async loadAt(path: string, place: number): Promise<void> {
    await this.loading.get(path)
    await this.loadPages(path, place, place + 1, false)
  }

  /** One request for a page at a time: what is in sight then is asked for when it has come. */
  private loadPages(path: string, from: number, to: number, isRefresh: boolean): Promise<void> {
    const under = this.loading.get(path)
    if (under !== undefined) return under
    const work = this.fetchPages(path, from, to, isRefresh).finally(() => this.loading.delete(path))
    this.loading.set(path, work)
    return work
  }

  private async fetchPages(
    path: string,
    from: number,
    to: number,
    isRefresh: boolean,
  ): Promise<void> {
    const known = this.branches.value.get(path)
    const branch = isRefresh || known === undefined ? new Branch() : known
    try {
      let offset = Math.floor(from / pageSize) * pageSize
      do {
        const page = await this.source.children(path, offset, pageSize)
        // Places in a list of another length mean other children.
        if (page.total !== branch.total) branch.clear(page.total)
        branch.put(offset, childrenIn(path, page))
        branch.problem = undefined
        if (path === '/') this.root.value = page.node
        offset += pageSize
      } while (offset < Math.min(to, branch.total))
      this.put(path, branch)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status === 0) return
      const problem = error.code === 'noAuth' ? 'The ACL hides the children' : error.message
      const failed = new Branch()
      // Facts from other sources stay.
      if (known !== undefined && error.code !== 'noNode') {
        const nodes = known.loaded.flatMap(([, place]) => known.at(place) ?? [])
        failed.put(0, nodes)
      }
      failed.problem = problem
      this.put(path, failed)
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
      if (branch === undefined) return
      if (branch.placeOf(child) === undefined) {
        if (branch.problem === undefined) {
          const place = await this.find(parent, part, branch.total)
          if (place !== undefined) await this.loadAt(parent, place)
        } else await this.addHidden(parent, child, branch)
      }
      if (branches.value.get(parent)?.placeOf(child) === undefined) return
      parent = child
    }
  }

  /** The place of a name among many, by halves: names come in order. */
  private async find(parent: string, name: string, total: number): Promise<number | undefined> {
    let [low, high] = [0, total]
    try {
      while (low < high) {
        const middle = (low + high) >> 1
        const { children, hidden } = await this.source.children(parent, middle, 1)
        const found = children[0]?.name ?? hidden[0]
        // It is gone, or the list has become shorter.
        if (found === undefined) return undefined
        if (found === name) return middle
        if (found < name) low = middle + 1
        else high = middle
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
    return undefined
  }

  /** A child of a znode that hides its children, known by its path. */
  private async addHidden(parent: string, child: string, branch: Branch): Promise<void> {
    const node = await this.source
      .node(child)
      .catch((fault: unknown) =>
        fault instanceof ApiError && fault.code === 'noAuth' ? hiddenNode(child) : undefined,
      )
    if (node === undefined) return
    branch.put(branch.total, [node])
    this.put(parent, branch)
  }

  /** The visible part of the tree. Missing parts of it are loaded. */
  show(ranges: ReadonlyMap<string, Range>): void {
    this.inSight = ranges
    for (const [path, { from, to }] of ranges) {
      const branch = this.branches.value.get(path)
      if (branch === undefined || branch.problem !== undefined) continue
      for (let at = from; at < to; at++) {
        if (branch.at(at) !== undefined) continue
        void this.loadPages(path, at, to, false)
        break
      }
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
    for (const path of paths) {
      // A load in progress may return data from before the change.
      const under = this.loading.get(path)
      if (under === undefined) void this.load(path)
      else if (branches.value.has(path)) void under.then(() => this.load(path))
    }
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
