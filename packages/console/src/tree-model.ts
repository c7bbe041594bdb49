/** What of the tree is loaded, and which of it is shown. */
import { computed, signal } from '@preact/signals'
import { ApiError, get, type Children, type Node } from './api.ts'
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

export const branches = signal<ReadonlyMap<string, Branch>>(new Map())
export const expanded = signal<ReadonlySet<string>>(new Set(['/']))
export const root = signal<Node | undefined>(undefined)
/** Paths that have just changed. */
export const lit = signal<ReadonlySet<string>>(new Set())
const loading = new Set<string>()

export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash <= 0 ? '/' : path.slice(0, slash)
}

export function joinPath(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`
}

export const rows = computed<readonly Row[]>(() => {
  const made: Row[] = []
  const add = (
    path: string,
    node: Node | undefined,
    depth: number,
    index: number,
    siblings: number,
  ): void => {
    made.push({ path, node, depth, index, siblings })
    if (!expanded.value.has(path)) return
    const branch = branches.value.get(path)
    if (branch === undefined) return
    const { children, total, problem } = branch
    for (const [at, child] of children.entries()) add(child.path, child, depth + 1, at + 1, total)
    const last = { path, node: undefined, depth: depth + 1, index: total, siblings: total }
    if (problem !== undefined) made.push({ ...last, note: 'problem', text: problem })
    else if (children.length < total) {
      const text = `${(total - children.length).toLocaleString('en-US')} more`
      made.push({ ...last, note: 'more', text })
    }
  }
  add('/', root.value, 0, 1, 1)
  return made
})

function put(path: string, branch: Branch): void {
  branches.value = new Map(branches.value).set(path, branch)
}

/** In the order of names, with those that may not be read. */
function childrenIn(parent: string, { children, hidden }: Children): readonly Node[] {
  if (hidden.length === 0) return children
  return [...children, ...hidden.map((name) => hiddenNode(joinPath(parent, name)))].toSorted(
    (a, b) => (a.name < b.name ? -1 : 1),
  )
}

function hiddenNode(path: string): Node {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const zxids = { czxid: '', mzxid: '', pzxid: '', ctime: '', mtime: '' }
  const numbers = { version: 0, cversion: 0, aversion: 0, dataLength: 0, numChildren: 0 }
  const rest = { kind: 'persistent', ephemeralOwner: null, ttlMs: null, isHidden: true } as const
  return { path, name, ...zxids, ...numbers, ...rest }
}

/** Loads the children that were loaded before, or the first page. */
export async function load(path: string, count = pageSize): Promise<void> {
  if (loading.has(path)) return
  loading.add(path)
  try {
    const children: Node[] = []
    let total = 0
    do {
      const page = await get<Children>('/children', {
        path,
        offset: children.length,
        limit: pageSize,
      })
      total = page.total
      children.push(...childrenIn(path, page))
      if (path === '/') root.value = page.node
      if (page.children.length + page.hidden.length === 0) break
    } while (children.length < Math.min(count, total))
    put(path, { total, children })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 0) return
    const known = branches.value.get(path)?.children ?? []
    const problem = error.code === 'noAuth' ? 'The ACL hides the children' : error.message
    // What is known of it by other ways stays.
    put(path, { total: known.length, children: error.code === 'noNode' ? [] : known, problem })
  } finally {
    loading.delete(path)
  }
}

export async function loadMore(path: string): Promise<void> {
  const branch = branches.value.get(path)
  if (branch === undefined || loading.has(path)) return
  loading.add(path)
  try {
    const offset = branch.children.length
    const page = await get<Children>('/children', { path, offset, limit: pageSize })
    const known = new Set(branch.children.map((child) => child.path))
    const fresh = childrenIn(path, page).filter((child) => !known.has(child.path))
    put(path, { total: page.total, children: [...branch.children, ...fresh] })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  } finally {
    loading.delete(path)
  }
}

export function toggle(path: string, isOpen = !expanded.value.has(path)): void {
  const next = new Set(expanded.value)
  if (isOpen) next.add(path)
  else next.delete(path)
  expanded.value = next
  if (isOpen) void load(path)
}

/** Opens everything above a znode, so that it has a row, also where a parent hides its children. */
export async function reveal(path: string): Promise<void> {
  const parts = path.split('/').filter(Boolean)
  let parent = '/'
  for (const part of parts) {
    const child = joinPath(parent, part)
    if (!expanded.value.has(parent)) expanded.value = new Set(expanded.value).add(parent)
    if (!branches.value.has(parent)) await load(parent)
    const branch = branches.value.get(parent)
    if (branch !== undefined && !branch.children.some((each) => each.path === child)) {
      const node = await get<Node>('/node', { path: child }).catch((fault: unknown) =>
        fault instanceof ApiError && fault.code === 'noAuth' ? hiddenNode(child) : undefined,
      )
      if (node === undefined) return
      const children = [...branch.children, node]
      put(parent, { ...branch, children, total: Math.max(branch.total, children.length) })
    }
    parent = child
  }
}

const stale = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Marks what has changed, and loads it again where it is shown. */
export function changed(changes: readonly Change[], isTruncated: boolean): void {
  for (const { path, type } of changes) {
    const parent = parentOf(path)
    if (branches.value.has(parent)) stale.add(parent)
    if (branches.value.has(path) && type !== 'changed') stale.add(path)
  }
  if (isTruncated) for (const path of expanded.value) stale.add(path)
  light(changes.map(({ path }) => path))
  timer ??= setTimeout(refresh, refreshMs)
}

function refresh(): void {
  timer = undefined
  const paths = [...stale].filter((path) => expanded.value.has(path))
  for (const path of stale) if (!expanded.value.has(path)) forget(path)
  stale.clear()
  for (const path of paths) void load(path, branches.value.get(path)?.children.length)
}

export function loadAgain(): void {
  for (const path of expanded.value) stale.add(path)
  refresh()
}

function forget(path: string): void {
  const next = new Map(branches.value)
  if (next.delete(path)) branches.value = next
}

function light(paths: readonly string[]): void {
  lit.value = new Set([...lit.value, ...paths])
  setTimeout(() => {
    const next = new Set(lit.value)
    for (const path of paths) next.delete(path)
    lit.value = next
  }, litMs)
}
