interface Entry {
  readonly path: string
  /** How often it was added. */
  uses: number
}

const slash = 47

/**
 * Paths, found as the path itself and the paths above another one. One pass over the characters
 * finds them all: to look each path above up by itself would take the square of the length, and
 * a path can have thousands of levels.
 */
export class PrefixIndex {
  private readonly byHash = new Map<number, Entry[]>()
  /** Clients choose the paths: they must not be able to choose what collides. */
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

  /** Those that are the path or above it, from the root down. */
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

/** Two whole texts are compared a word at a time, which `startsWith` is not. */
function isPrefix(prefix: string, path: string, length: number): boolean {
  return prefix.length === length && path.slice(0, length) === prefix
}

function step(hash: number, code: number): number {
  const mixed = Math.imul(hash ^ code, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
