import type { ProjectedNode } from './projection.ts'

const bucketsMin = 64
/** The number of buckets that stay allocated while the table is empty. */
const bucketsKept = 4096

/**
 * A hash table of the paths that pending transactions change, with their projected nodes.
 *
 * A `Map` would work, but it would grow from nothing and shrink again for each batch, and each
 * table that it discards refers to the next one, which keeps garbage alive. This table uses the
 * path hash that the tree needs anyway, and allocates nothing.
 */
export class PendingNodes {
  size = 0
  private buckets = emptyBuckets(bucketsMin)

  get(path: string, hash: number): ProjectedNode | undefined {
    let node = this.buckets[this.bucketOf(hash)]
    while (node !== undefined && (node.hash !== hash || node.path !== path)) node = node.next
    return node
  }

  /** Looks up the path that consists of the first `end` characters. */
  getPrefix(path: string, end: number, hash: number): ProjectedNode | undefined {
    let node = this.buckets[this.bucketOf(hash)]
    while (node !== undefined && !(node.hash === hash && isPrefix(node.path, path, end))) {
      node = node.next
    }
    return node
  }

  /** Adds a node; replaces an existing one of the same path. */
  set(node: ProjectedNode): void {
    const before = this.get(node.path, node.hash)
    if (before !== undefined) this.delete(before)
    if (this.size === this.buckets.length) this.grow()
    const bucket = this.bucketOf(node.hash)
    node.next = this.buckets[bucket]
    this.buckets[bucket] = node
    this.size++
  }

  /** Removes this very node, if the table still holds it. */
  delete(node: ProjectedNode): void {
    const bucket = this.bucketOf(node.hash)
    let before: ProjectedNode | undefined
    let found = this.buckets[bucket]
    while (found !== undefined && found !== node) {
      before = found
      found = found.next
    }
    if (found === undefined) return
    if (before === undefined) this.buckets[bucket] = node.next
    else before.next = node.next
    node.next = undefined
    if (--this.size === 0 && this.buckets.length > bucketsKept) {
      this.buckets = emptyBuckets(bucketsMin)
    }
  }

  private bucketOf(hash: number): number {
    // The multiplication of FNV only mixes upwards, so this folds the high bits down.
    return (hash ^ (hash >>> 15)) & (this.buckets.length - 1)
  }

  private grow(): void {
    const { buckets } = this
    this.buckets = emptyBuckets(2 * buckets.length)
    for (const first of buckets) {
      for (let node = first; node !== undefined;) {
        const { next } = node
        const bucket = this.bucketOf(node.hash)
        node.next = this.buckets[bucket]
        this.buckets[bucket] = node
        node = next
      }
    }
  }
}

/** The size is always a power of two, so that finding a bucket is a mask. */
function emptyBuckets(count: number): (ProjectedNode | undefined)[] {
  return Array.from({ length: count }, () => undefined)
}

function isPrefix(prefix: string, path: string, end: number): boolean {
  return prefix.length === end && path.startsWith(prefix)
}
