interface Entry {
  readonly path: string
  /** How often it was added. */
  uses: number
}

const slash = 47

/**
 * A set of paths that finds a given path and its ancestors. It finds them in one pass over the
 * characters. Looking up each ancestor separately would take time quadratic in the length, and a
 * path can have thousands of levels.
 */
export class PrefixIndex {
  private readonly byHash = new Map<number, Entry[]>()
  /** Clients choose the paths, so a random seed keeps them from choosing hashes that collide. */
  private readonly seed: number

  constructor(seed = 0x9e3779b1) {
    this.seed = seed | 0
  }

  add(path: string): void {
    const hash = this.hashOf(path)
    const entries = this.byHash.get(hash)
    if (entries === undefined) {
      this.byHash.set(hash, [{ path, uses: 1 }])
      return
    }
    const known = entries.find((entry) => entry.path === path)
    if (known === undefined) entries.push({ path, uses: 1 })
    else known.uses++
  }

  remove(path: string): void {
    const hash = this.hashOf(path)
    const entries = this.byHash.get(hash)
    const at = entries?.findIndex((entry) => entry.path === path) ?? -1
    if (entries === undefined || at === -1 || --entries[at]!.uses > 0) return
    entries.splice(at, 1)
    if (entries.length === 0) this.byHash.delete(hash)
  }

  /** The members of the set that are the path or its ancestors, from the root down. */
  *prefixesOf(path: string): IterableIterator<string> {
    const root = this.byHash.get(step(this.seed, slash))
    if (root !== undefined) for (const entry of root) if (entry.path === '/') yield entry.path
    if (path === '/') return
    let hash = step(this.seed, slash)
    for (let i = 1; i <= path.length; i++) {
      const isEnd = i === path.length
      const code = isEnd ? slash : path.charCodeAt(i)
      if (code === slash) {
        const entries = this.byHash.get(hash)
        if (entries !== undefined) {
          for (const entry of entries) if (isPrefix(entry.path, path, i)) yield entry.path
        }
      }
      hash = step(hash, code)
    }
  }

  private hashOf(path: string): number {
    let hash = this.seed
    for (let i = 0; i < path.length; i++) hash = step(hash, path.charCodeAt(i))
    return hash
  }
}

/**
 * Compares two whole strings where possible: that goes a word at a time, which `startsWith` does
 * not.
 */
function isPrefix(prefix: string, path: string, length: number): boolean {
  return prefix.length === length && path.slice(0, length) === prefix
}

function step(hash: number, code: number): number {
  const mixed = Math.imul(hash ^ code, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
