import { field, recordBytes } from './layout.ts'

const headBits = 16
const headMask = (1 << headBits) - 1
const firstHeads = 1 << 8

/**
 * From the hash of a path to the znodes that have it, by linear hashing: it grows by one bucket
 * for each znode added, so there is never a moment at which a large table is rebuilt.
 * Chains run through the znodes' own records.
 */
export class PathIndex {
  private readonly views: readonly DataView[]
  private readonly chunkBits: number
  private readonly chunkMask: number
  private readonly heads: Int32Array[] = [new Int32Array(firstHeads)]
  private level = 4
  private split = 0
  private count = 0

  constructor(views: readonly DataView[], chunkBits: number) {
    this.views = views
    this.chunkBits = chunkBits
    this.chunkMask = (1 << chunkBits) - 1
  }

  /** The first znode that may have this hash; 0 is none. */
  first(hash: number): number {
    const bucket = this.bucketOf(hash)
    return this.heads[bucket >>> headBits]![bucket & headMask]!
  }

  next(id: number): number {
    return this.views[id >>> this.chunkBits]!.getInt32(this.at(id) + field.chain)
  }

  insert(id: number, hash: number): void {
    this.push(this.bucketOf(hash), id)
    if (++this.count > (1 << this.level) + this.split) this.grow()
  }

  remove(id: number, hash: number): void {
    const bucket = this.bucketOf(hash)
    const after = this.next(id)
    const heads = this.heads[bucket >>> headBits]!
    let at = heads[bucket & headMask]!
    if (at === id) {
      heads[bucket & headMask] = after
    } else {
      for (let next = this.next(at); next !== id; next = this.next(at)) at = next
      this.setNext(at, after)
    }
    this.count--
  }

  /** Room for so many at once; only of use while there are few. */
  reserve(count: number): void {
    if (this.split > 0 || this.count > 1 << this.level) return
    const ids: number[] = []
    for (let bucket = 0; bucket < 1 << this.level; bucket++) {
      for (let id = this.heads[0]![bucket]!; id !== 0; id = this.next(id)) ids.push(id)
      this.heads[0]![bucket] = 0
    }
    // Not quite as many buckets: the count is a guess, and a chain of two costs little.
    while (1 << this.level < count * 0.75 && this.level < headBits + 12) this.level++
    this.makeRoom((1 << this.level) - 1)
    for (const id of ids) {
      const view = this.views[id >>> this.chunkBits]!
      this.push(this.bucketOf(view.getInt32(this.at(id) + field.hash)), id)
    }
  }

  private at(id: number): number {
    return (id & this.chunkMask) * recordBytes
  }

  private setNext(id: number, next: number): void {
    this.views[id >>> this.chunkBits]!.setInt32(this.at(id) + field.chain, next)
  }

  private push(bucket: number, id: number): void {
    const heads = this.heads[bucket >>> headBits]!
    this.setNext(id, heads[bucket & headMask]!)
    heads[bucket & headMask] = id
  }

  private bucketOf(hash: number): number {
    // The multiplication of FNV mixes upwards only; fold the high bits down.
    const mixed = hash ^ (hash >>> 15)
    const bucket = mixed & ((1 << this.level) - 1)
    return bucket < this.split ? mixed & ((1 << (this.level + 1)) - 1) : bucket
  }

  /** The first block of heads grows until it is as large as those that follow. */
  private makeRoom(bucket: number): void {
    const { heads } = this
    const first = heads[0]!
    const wanted = Math.min(bucket + 1, 1 << headBits)
    if (first.length < wanted) {
      heads[0] = new Int32Array(Math.min(1 << headBits, Math.max(first.length * 2, wanted)))
      heads[0].set(first)
    }
    while (bucket >>> headBits >= heads.length) heads.push(new Int32Array(1 << headBits))
  }

  /** Splits one bucket in two. */
  private grow(): void {
    const old = this.split
    const fresh = old + (1 << this.level)
    this.makeRoom(fresh)
    const heads = this.heads[old >>> headBits]!
    let id = heads[old & headMask]!
    heads[old & headMask] = 0
    if (++this.split === 1 << this.level) {
      this.split = 0
      this.level++
    }
    while (id !== 0) {
      const next = this.next(id)
      const view = this.views[id >>> this.chunkBits]!
      this.push(this.bucketOf(view.getInt32(this.at(id) + field.hash)), id)
      id = next
    }
  }
}
