/** Kinds of watches on one path by one watcher; they add up. */
export const watchModes = { standard: 1, persistent: 2, recursive: 4 } as const
const { standard, recursive } = watchModes
export const anyMode = 7

/** Most paths have one watcher: a map is made only for the second. */
interface Single<W> {
  readonly watcher: W
  modes: number
}
type Entry<W> = Single<W> | Map<W, number>

/** Who watches which path, both ways round. */
export class WatchTable<W extends object> {
  private readonly byPath = new Map<string, Entry<W>>()
  private readonly byWatcher = new Map<W, Set<string>>()
  private recursiveCount = 0

  get pathCount(): number {
    return this.byPath.size
  }

  /** Who ever watched and is still connected: ZooKeeper counts those whose watches fired too. */
  get watcherCount(): number {
    return this.byWatcher.size
  }

  get hasRecursive(): boolean {
    return this.recursiveCount > 0
  }

  get isEmpty(): boolean {
    return this.byPath.size === 0
  }

  /** Watches, one for each pair of path and watcher. */
  get size(): number {
    let size = 0
    for (const paths of this.byWatcher.values()) size += paths.size
    return size
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

  /** Takes modes away; says whether there was one of them. */
  remove(path: string, watcher: W, modes: number): boolean {
    const before = this.modes(path, watcher)
    if ((before & modes) === 0) return false
    this.setModes(path, watcher, before & ~modes)
    return true
  }

  dropWatcher(watcher: W): void {
    const paths = this.byWatcher.get(watcher)
    if (paths === undefined) return
    for (const path of paths) this.setModes(path, watcher, 0)
    this.byWatcher.delete(watcher)
  }

  /** Calls `visit` for each watcher of exactly this path; one-shot watches are used up. */
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

  /** Calls `visit` for each watcher that watches this path with all that is below it. */
  fireRecursive(path: string, visit: (watcher: W) => void): void {
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
    this.recursiveCount += ((modes & recursive) >> 2) - ((before & recursive) >> 2)
    if (before === 0 && modes !== 0) this.pathsOf(watcher).add(path)
    else if (before !== 0 && modes === 0) this.forget(watcher, path)
  }

  private pathsOf(watcher: W): Set<string> {
    let paths = this.byWatcher.get(watcher)
    if (paths === undefined) this.byWatcher.set(watcher, (paths = new Set()))
    return paths
  }

  private forget(watcher: W, path: string): void {
    this.byWatcher.get(watcher)?.delete(path)
  }
}
