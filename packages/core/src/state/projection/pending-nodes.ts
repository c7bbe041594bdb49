import type { ProjectedNode } from './projection.ts'

const bucketsMin = 64
/** Buckets that are kept when nothing is in them. */
const bucketsKept = 4096

/**
 * What the projection says of each path that something under way changes.
 *
 * A `Map` would do, but for each batch it would grow from nothing and shrink again, and every
 * table it leaves behind names the next one: garbage that keeps garbage alive. Here a path is
 * found by the hash that the tree needs anyway, and nothing is allocated.
 */
export class PendingNodes {
  size = 0
  private buckets = emptyBuckets(bucketsMin)

  get(path: string, hash: number): ProjectedNode | undefined {
    let node = this.buckets[this.bucketOf(hash)]
    while (node !== undefined && (node.hash !== hash || node.path !== path)) node = node.next
    return node
  }

  /** Of the path that the first `end` characters are. */
  getPrefix(path: string, end: number, hash: number): ProjectedNode | undefined {
    let node = this.buckets[this.bucketOf(hash)]
    while (node !== undefined && !(node.hash === hash && isPrefix(node.path, path, end))) {
      node = node.next
    }
    return node
  }

  /** In place of what there was of its path. */
  set(node: ProjectedNode): void {
    const before = this.get(node.path, node.hash)
    if (before !== undefined) this.delete(before)
    if (this.size === this.buckets.length) this.grow()
    const bucket = this.bucketOf(node.hash)
    node.next = this.buckets[bucket]
    this.buckets[bucket] = node
    this.size++
  }

  /** This very node, if it is what there is of its path. */
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
    // The multiplication of FNV mixes upwards only; fold the high bits down.
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

/** Always a power of two, so that a bucket is a mask. */
function emptyBuckets(count: number): (ProjectedNode | undefined)[] {
  return Array.from({ length: count }, () => undefined)
}

function isPrefix(prefix: string, path: string, end: number): boolean {
  return prefix.length === end && path.startsWith(prefix)
}
