import { PrefixIndex } from './prefix-index.ts'

/** The kinds of watches that one watcher can have on a path; a bit mask. */
export const watchModes = { standard: 1, persistent: 2, recursive: 4 } as const
const { standard, persistent, recursive } = watchModes
export const anyMode = standard | persistent | recursive

/** Most paths have one watcher; a map is created only for the second. */
interface Single<W> {
  readonly watcher: W
  modes: number
}
type Entry<W> = Single<W> | Map<W, number>

const noPaths: ReadonlySet<string> = new Set()

/**
 * A connection can have so many watches that removing them all at once would block others for too
 * long.
 */
const droppedAtOnceMax = 10_000

/** The weight of a watch: one, plus one for each 256 characters of its path. */
const watchWeight = (path: string): number => 1 + (path.length >> 8)

/** The watches on paths, indexed by path and by watcher. */
export class WatchTable<W extends { watchWeight: number }> {
  /** The total weight of all watches. */
  weight = 0
  /** The number of watches: pairs of path and watcher. */
  size = 0
  private readonly byPath = new Map<string, Entry<W>>()
  private readonly byWatcher = new Map<W, Set<string>>()
  private readonly dropping: { readonly watcher: W; readonly paths: Iterable<string> }[] = []
  private readonly recursivePaths: PrefixIndex
  private recursiveCount = 0

  constructor(hashSeed?: number) {
    this.recursivePaths = new PrefixIndex(hashSeed)
  }

  get pathCount(): number {
    return this.byPath.size
  }

  /**
   * The number of connected watchers that ever had a watch. ZooKeeper counts those whose watches
   * fired too.
   */
  get watcherCount(): number {
    return this.byWatcher.size
  }

  get hasRecursive(): boolean {
    return this.recursiveCount > 0
  }

  get isEmpty(): boolean {
    return this.byPath.size === 0
  }

  add(path: string, watcher: W, mode: number): void {
    const before = this.modes(path, watcher)
    this.setModes(path, watcher, before | mode)
  }

  modes(path: string, watcher: W): number {
    const entry = this.byPath.get(path)
    if (entry === undefined) return 0
    if (entry instanceof Map) return entry.get(watcher) ?? 0
    return entry.watcher === watcher ? entry.modes : 0
  }

  /** Removes modes; returns whether one of them was set. */
  remove(path: string, watcher: W, modes: number): boolean {
    const before = this.modes(path, watcher)
    if ((before & modes) === 0) return false
    this.setModes(path, watcher, before & ~modes)
    return true
  }

  /** Removes all watches of a watcher. If it has many, `dropMore` removes the rest later. */
  dropWatcher(watcher: W): void {
    const paths = this.byWatcher.get(watcher)
    if (paths === undefined) return
    this.byWatcher.delete(watcher)
    this.dropping.push({ watcher, paths: paths.values() })
    this.dropMore()
  }

  /** Removes some more watches of disconnected watchers. */
  dropMore(): void {
    let left = droppedAtOnceMax
    for (let next = this.dropping[0]; next !== undefined; next = this.dropping[0]) {
      for (const path of next.paths) {
        this.setModes(path, next.watcher, 0)
        if (--left === 0) return
      }
      this.dropping.shift()
    }
  }

  /** Calls `visit` for each watcher of exactly this path, and removes one-shot watches. */
  fire(path: string, visit: (watcher: W) => void): void {
    const entry = this.byPath.get(path)
    if (entry === undefined) return
    if (entry instanceof Map) {
      for (const [watcher, modes] of entry) {
        visit(watcher)
        if ((modes & standard) !== 0) this.setModes(path, watcher, modes & ~standard)
      }
    } else {
      const { watcher, modes } = entry
      visit(watcher)
      if ((modes & standard) !== 0) this.setModes(path, watcher, modes & ~standard)
    }
  }

  /** Calls `visit` for each watcher with a recursive watch on this path or an ancestor. */
  fireRecursive(path: string, visit: (watcher: W) => void): void {
    for (const watched of this.recursivePaths.prefixesOf(path)) this.tellAll(watched, visit)
  }

  private tellAll(path: string, visit: (watcher: W) => void): void {
    const entry = this.byPath.get(path)
    if (entry === undefined) return
    if (entry instanceof Map) {
      for (const [watcher, modes] of entry) if ((modes & recursive) !== 0) visit(watcher)
    } else if ((entry.modes & recursive) !== 0) {
      visit(entry.watcher)
    }
  }

  *paths(): IterableIterator<[path: string, watchers: W[]]> {
    for (const [path, entry] of this.byPath) {
      yield [path, entry instanceof Map ? [...entry.keys()] : [entry.watcher]]
    }
  }

  /** The paths that a watcher watches. */
  watchedBy(watcher: W): ReadonlySet<string> {
    return this.byWatcher.get(watcher) ?? noPaths
  }

  watchers(): IterableIterator<[watcher: W, paths: ReadonlySet<string>]> {
    return this.byWatcher.entries()
  }

  private setModes(path: string, watcher: W, modes: number): void {
    const entry = this.byPath.get(path)
    let before = 0
    if (entry === undefined) {
      if (modes !== 0) this.byPath.set(path, { watcher, modes })
    } else if (entry instanceof Map) {
      before = entry.get(watcher) ?? 0
      if (modes !== 0) entry.set(watcher, modes)
      else if (entry.delete(watcher) && entry.size === 0) this.byPath.delete(path)
    } else if (entry.watcher === watcher) {
      before = entry.modes
      if (modes === 0) this.byPath.delete(path)
      else entry.modes = modes
    } else if (modes !== 0) {
      this.byPath.set(
        path,
        new Map([
          [entry.watcher, entry.modes],
          [watcher, modes],
        ]),
      )
    }
    const recursiveBefore = (before & recursive) >> 2
    const recursiveNow = (modes & recursive) >> 2
    if (recursiveNow !== recursiveBefore) {
      this.recursiveCount += recursiveNow - recursiveBefore
      if (recursiveNow > 0) this.recursivePaths.add(path)
      else this.recursivePaths.remove(path)
    }
    if (before === 0 && modes !== 0) this.remember(watcher, path)
    else if (before !== 0 && modes === 0) this.forget(watcher, path)
  }

  private remember(watcher: W, path: string): void {
    this.pathsOf(watcher).add(path)
    this.weigh(watcher, path, 1)
  }

  private weigh(watcher: W, path: string, sign: 1 | -1): void {
    const weight = sign * watchWeight(path)
    this.weight += weight
    this.size += sign
    watcher.watchWeight += weight
  }

  private pathsOf(watcher: W): Set<string> {
    let paths = this.byWatcher.get(watcher)
    if (paths === undefined) this.byWatcher.set(watcher, (paths = new Set()))
    return paths
  }

  private forget(watcher: W, path: string): void {
    this.byWatcher.get(watcher)?.delete(path)
    this.weigh(watcher, path, -1)
  }
}
