import { field, recordBytes } from './layout.ts'

const blockBits = 16
const blockMask = (1 << blockBits) - 1
const firstBuckets = 1 << 8

/**
 * From the hash of a path to the znodes that have it, by linear hashing: it grows by one bucket
 * for each znode added, so there is never a moment at which a large table is rebuilt.
 *
 * A bucket holds its first znode, negative where there are more, and the hash of that znode. The
 * others are chained through their own records. So a bucket mostly answers by itself, and in a
 * large tree, where looking at a record is waiting for memory, only what is found is looked at.
 */
export class PathIndex {
  private readonly views: readonly DataView[]
  private readonly chunkBits: number
  private readonly chunkMask: number
  private readonly blocks: Int32Array[] = [new Int32Array(2 * firstBuckets)]
  private level = 4
  private split = 0
  private count = 0

  constructor(views: readonly DataView[], chunkBits: number) {
    this.views = views
    this.chunkBits = chunkBits
    this.chunkMask = (1 << chunkBits) - 1
  }

  /** The first znode that has this hash; 0 is none. */
  first(hash: number): number {
    const bucket = this.bucketOf(hash)
    const block = this.blockOf(bucket)
    const at = startOf(bucket)
    const first = block[at]!
    if (block[at + 1] === hash) return Math.abs(first)
    return first < 0 ? this.next(-first, hash) : 0
  }

  /** The one after a znode of the same bucket. */
  next(id: number, hash: number): number {
    let next = this.chained(id)
    while (next !== 0 && this.hashOf(next) !== hash) next = this.chained(next)
    return next
  }

  insert(id: number, hash: number): void {
    this.push(this.bucketOf(hash), id, hash)
    if (++this.count > (1 << this.level) + this.split) this.grow()
  }

  remove(id: number, hash: number): void {
    const bucket = this.bucketOf(hash)
    const after = this.chained(id)
    const first = Math.abs(this.blockOf(bucket)[startOf(bucket)]!)
    if (first === id) {
      this.fill(bucket, after, after === 0 ? 0 : this.hashOf(after))
    } else {
      let before = first
      for (let next = this.chained(before); next !== id; next = this.chained(before)) before = next
      this.setChained(before, after)
    }
    this.count--
  }

  /** Room for so many at once; only of use while there are few. */
  reserve(count: number): void {
    if (this.split > 0 || this.count > 1 << this.level) return
    const ids: number[] = []
    for (let bucket = 0; bucket < 1 << this.level; bucket++) ids.push(...this.empty(bucket))
    // Not quite as many buckets: the count is a guess, and a chain of two costs little.
    while (1 << this.level < count * 0.75 && this.level < blockBits + 12) this.level++
    this.makeRoom((1 << this.level) - 1)
    for (const id of ids) this.push(this.bucketOf(this.hashOf(id)), id, this.hashOf(id))
  }

  private hashOf(id: number): number {
    return this.views[id >>> this.chunkBits]!.getInt32(this.at(id) + field.hash)
  }

  private chained(id: number): number {
    return this.views[id >>> this.chunkBits]!.getInt32(this.at(id) + field.chain)
  }

  private setChained(id: number, next: number): void {
    this.views[id >>> this.chunkBits]!.setInt32(this.at(id) + field.chain, next)
  }

  private at(id: number): number {
    return (id & this.chunkMask) * recordBytes
  }

  private bucketOf(hash: number): number {
    // The multiplication of FNV mixes upwards only; fold the high bits down.
    const mixed = hash ^ (hash >>> 15)
    const bucket = mixed & ((1 << this.level) - 1)
    return bucket < this.split ? mixed & ((1 << (this.level + 1)) - 1) : bucket
  }

  private blockOf(bucket: number): Int32Array {
    return this.blocks[bucket >>> blockBits]!
  }

  private push(bucket: number, id: number, hash: number): void {
    this.setChained(id, Math.abs(this.blockOf(bucket)[startOf(bucket)]!))
    this.fill(bucket, id, hash)
  }

  /** Makes a znode, with those chained to it, all of a bucket. */
  private fill(bucket: number, id: number, hash: number): void {
    const block = this.blockOf(bucket)
    const at = startOf(bucket)
    block[at] = id === 0 || this.chained(id) === 0 ? id : -id
    block[at + 1] = hash
  }

  /** All znodes of a bucket, which has none afterwards. */
  private empty(bucket: number): number[] {
    const ids: number[] = []
    const block = this.blockOf(bucket)
    for (let id = Math.abs(block[startOf(bucket)]!); id !== 0; id = this.chained(id)) ids.push(id)
    block.fill(0, startOf(bucket), startOf(bucket) + 2)
    return ids
  }

  /** The first block grows until it is as large as those that follow. */
  private makeRoom(bucket: number): void {
    const { blocks } = this
    const first = blocks[0]!
    const wanted = 2 * Math.min(bucket + 1, 1 << blockBits)
    if (first.length < wanted) {
      blocks[0] = new Int32Array(Math.min(2 << blockBits, Math.max(first.length * 2, wanted)))
      blocks[0].set(first)
    }
    while (bucket >>> blockBits >= blocks.length) blocks.push(new Int32Array(2 << blockBits))
  }

  /** Splits one bucket in two. */
  private grow(): void {
    const old = this.split
    this.makeRoom(old + (1 << this.level))
    if (++this.split === 1 << this.level) {
      this.split = 0
      this.level++
    }
    const block = this.blockOf(old)
    const at = startOf(old)
    const first = block[at]!
    const hash = block[at + 1]!
    block[at] = 0
    block[at + 1] = 0
    if (first > 0) {
      const bucket = this.bucketOf(hash)
      this.blockOf(bucket)[startOf(bucket)] = first
      this.blockOf(bucket)[startOf(bucket) + 1] = hash
      return
    }
    for (let id = -first; id !== 0;) {
      const next = this.chained(id)
      this.push(this.bucketOf(this.hashOf(id)), id, this.hashOf(id))
      id = next
    }
  }
}

/** Where in its block a bucket lies. */
function startOf(bucket: number): number {
  return (bucket & blockMask) << 1
}
