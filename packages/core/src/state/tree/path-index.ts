import { assert } from '../../base/assert.ts'
import type { TouchMemory } from '../../ports.ts'
import { Reserve } from './reserve.ts'

const slots = 7
const countAt = 0
const spillAt = 1
const hashesAt = 2
const idsAt = hashesAt + slots
/** Numbers in a bucket, as a power of two: a bucket fills one cache line of 64 bytes. */
const bucketBits = 4
/** Buckets in a block, as a power of two. */
const blockBits = 12
const blockMask = (1 << blockBits) - 1
const firstLevel = 4
const levelMax = 28
const movedAtFirst = 8 * slots
/** The average number of znodes in a bucket. A bucket has seven slots, so few need a spill. */
const fill = 4

/** A growing array of buckets, allocated in blocks and addressed by number. */
class Buckets {
  private readonly blocks: Int32Array[] = [new Int32Array(1 << (firstLevel + bucketBits))]
  private readonly reserve: Reserve

  constructor(touch?: TouchMemory) {
    this.reserve = new Reserve(Int32Array.BYTES_PER_ELEMENT << (blockBits + bucketBits), touch)
  }

  blockOf(bucket: number): Int32Array {
    return this.blocks[bucket >>> blockBits]!
  }

  /** The first block grows until it has the size of all others. */
  makeRoom(bucket: number): void {
    const { blocks } = this
    const first = blocks[0]!
    const wanted = Math.min(bucket + 1, 1 << blockBits) << bucketBits
    if (first.length < wanted) {
      blocks[0] = new Int32Array(
        Math.min(1 << (blockBits + bucketBits), Math.max(first.length * 2, wanted)),
      )
      blocks[0].set(first)
    }
    while (bucket >>> blockBits >= blocks.length) {
      blocks.push(new Int32Array(this.reserve.take()))
    }
  }
}

/** The offset of a bucket in its block. */
function startOf(bucket: number): number {
  return (bucket & blockMask) << bucketBits
}

/**
 * Finds the znodes that have a given path hash. It uses linear hashing: the table grows by one
 * bucket at a time, so a large table is never rebuilt at once.
 *
 * A bucket holds the count of its znodes, their hashes and their numbers. In a large tree nearly
 * every access is a cache miss, so a lookup needs the one cache line of its bucket, and a bucket
 * splits without reading the znodes. A full bucket continues in another one, its spill.
 */
export class PathIndex {
  private readonly main: Buckets
  /** Overflow buckets; number 0 is none. */
  private readonly spills = new Buckets()
  private spillsUsed = 1
  /** The head of the free list. A free bucket refers to the next one in its spill field. */
  private freeSpill = 0
  private level = firstLevel
  private split = 0
  private count = 0
  /** The content of the bucket that is being split: hash and number alternate. */
  private moved = new Int32Array(movedAtFirst)
  private movedCount = 0

  constructor(touch?: TouchMemory) {
    this.main = new Buckets(touch)
  }

  /** The first znode with this hash; 0 is none. */
  first(hash: number): number {
    const bucket = this.bucketOf(hash)
    let block = this.main.blockOf(bucket)
    let at = startOf(bucket)
    for (;;) {
      const end = at + hashesAt + block[at + countAt]!
      for (let i = at + hashesAt; i < end; i++) if (block[i] === hash) return block[i + slots]!
      const spill = block[at + spillAt]!
      if (spill === 0) return 0
      block = this.spills.blockOf(spill)
      at = startOf(spill)
    }
  }

  /** The next znode with the same hash. */
  next(id: number, hash: number): number {
    const bucket = this.bucketOf(hash)
    let block = this.main.blockOf(bucket)
    let at = startOf(bucket)
    let isBehind = false
    for (;;) {
      const end = at + hashesAt + block[at + countAt]!
      for (let i = at + hashesAt; i < end; i++) {
        if (block[i] !== hash) continue
        if (isBehind) return block[i + slots]!
        isBehind = block[i + slots] === id
      }
      const spill = block[at + spillAt]!
      if (spill === 0) return 0
      block = this.spills.blockOf(spill)
      at = startOf(spill)
    }
  }

  insert(id: number, hash: number): void {
    this.push(id, hash)
    if (++this.count > fill * ((1 << this.level) + this.split)) this.grow()
  }

  remove(id: number, hash: number): void {
    this.count--
    const bucket = this.bucketOf(hash)
    const block = this.main.blockOf(bucket)
    const at = startOf(bucket)
    if (block[at + spillAt] === 0) {
      // The last entry moves into the gap.
      const last = --block[at + countAt]!
      let slot = 0
      while (slot <= last && block[at + idsAt + slot] !== id) slot++
      assert(slot <= last, 'the entry to remove exists')
      block[at + hashesAt + slot] = block[at + hashesAt + last]!
      block[at + idsAt + slot] = block[at + idsAt + last]!
      return
    }
    this.empty(bucket)
    this.refill(id)
  }

  /** Prepares the index for this many znodes; has an effect only while it is small. */
  reserve(count: number): void {
    const before = 1 << this.level
    if (this.split > 0 || this.count > fill * before) return
    this.movedCount = 0
    for (let bucket = 0; bucket < before; bucket++) this.takeAll(bucket)
    // Creates a few buckets less: the count is an estimate, and fuller buckets cost little.
    while (fill << this.level < count * 0.75 && this.level < levelMax) this.level++
    this.main.makeRoom((1 << this.level) - 1)
    this.refill()
  }

  private bucketOf(hash: number): number {
    // The multiplication of FNV only mixes upwards, so this folds the high bits down.
    const mixed = hash ^ (hash >>> 15)
    const bucket = mixed & ((1 << this.level) - 1)
    return bucket < this.split ? mixed & ((1 << (this.level + 1)) - 1) : bucket
  }

  /** Adds to the last bucket of a chain: all others are full. */
  private push(id: number, hash: number): void {
    // Comes first, because `makeRoom` may move the first block.
    this.spills.makeRoom(this.spillsUsed)
    const bucket = this.bucketOf(hash)
    let block = this.main.blockOf(bucket)
    let at = startOf(bucket)
    while (block[at + countAt] === slots) {
      if (block[at + spillAt] === 0) block[at + spillAt] = this.takeSpill()
      const spill = block[at + spillAt]!
      block = this.spills.blockOf(spill)
      at = startOf(spill)
    }
    const count = block[at + countAt]!
    block[at + hashesAt + count] = hash
    block[at + idsAt + count] = id
    block[at + countAt] = count + 1
  }

  /** Moves the content of a bucket and its spills to `moved`. */
  private empty(bucket: number): void {
    this.movedCount = 0
    this.takeAll(bucket)
  }

  private takeAll(bucket: number): void {
    let block = this.main.blockOf(bucket)
    let at = startOf(bucket)
    for (let number = 0; ;) {
      const end = at + hashesAt + block[at + countAt]!
      for (let i = at + hashesAt; i < end; i++) this.move(block[i]!, block[i + slots]!)
      const spill = block[at + spillAt]!
      block[at + countAt] = 0
      block[at + spillAt] = 0
      if (number !== 0) {
        block[at + spillAt] = this.freeSpill
        this.freeSpill = number
      }
      if (spill === 0) return
      number = spill
      block = this.spills.blockOf(spill)
      at = startOf(spill)
    }
  }

  private move(hash: number, id: number): void {
    const { moved, movedCount } = this
    if (movedCount === moved.length) {
      this.moved = new Int32Array(2 * movedCount)
      this.moved.set(moved)
    }
    this.moved[movedCount] = hash
    this.moved[movedCount + 1] = id
    this.movedCount += 2
  }

  /** Puts the content of `moved` into the right buckets, except for one znode. */
  private refill(without = 0): void {
    const { moved, movedCount } = this
    for (let i = 0; i < movedCount; i += 2) {
      if (moved[i + 1] !== without) this.push(moved[i + 1]!, moved[i]!)
    }
  }

  private takeSpill(): number {
    const free = this.freeSpill
    if (free === 0) return this.spillsUsed++
    const block = this.spills.blockOf(free)
    const at = startOf(free)
    this.freeSpill = block[at + spillAt]!
    block[at + spillAt] = 0
    return free
  }

  /** Splits one bucket in two. */
  private grow(): void {
    const old = this.split
    this.main.makeRoom(old + (1 << this.level))
    this.empty(old)
    if (++this.split === 1 << this.level) {
      this.split = 0
      this.level++
    }
    this.refill()
  }
}
