import { copyWords, wordCopyMax } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { TouchMemory } from '../../ports.ts'
import { Reserve } from './reserve.ts'

const unitBits = 4
const unitBytes = 1 << unitBits
const chunkBits = 22
const chunkBytes = 1 << chunkBits
/** The first chunk is small, so that a tree of a few znodes does not allocate a whole one. */
const firstChunkBytes = 1 << 16
const unitsPerChunkBits = chunkBits - unitBits
const unitMask = (1 << unitsPerChunkBits) - 1
const chunksMax = 1 << (32 - unitsPerChunkBits)
const smallBytesMax = 256
const sharedBytesMax = 1 << 20

/** Sizes of blocks: multiples of 16 bytes while small, then growing by a quarter. */
const classBytes: readonly number[] = (() => {
  const sizes: number[] = []
  for (let size = 16; size <= smallBytesMax; size += 16) sizes.push(size)
  for (let size = smallBytesMax; size < sharedBytesMax;) {
    size = Math.min(sharedBytesMax, (Math.ceil((size * 5) / 4 / 16) | 0) * 16)
    sizes.push(size)
  }
  return sizes
})()

function classOf(length: number): number {
  if (length <= smallBytesMax) return (length + 15) >> 4 // class + 1: sizes start at index 0
  let low = smallBytesMax >> 4
  let high = classBytes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (classBytes[middle - 1]! < length) low = middle + 1
    else high = middle
  }
  return low
}

/** Identifies a block of bytes in an arena; 0 is no block. */
export type BlockRef = number

function refTo(chunk: number, unit: number): BlockRef {
  return ((chunk << unitsPerChunkBits) | unit) >>> 0
}

/**
 * Blocks of bytes outside the garbage-collected heap. A million znodes take a few hundred chunks
 * here instead of millions of objects, so the collector never walks them, and the memory of a
 * deleted znode is free at once.
 */
export class Arena {
  private readonly chunks: Uint8Array[] = []
  private readonly views: DataView[] = []
  private readonly freeChunks: number[] = []
  private readonly freeBlocks: BlockRef[][] = classBytes.map(() => [])
  private current = -1
  private currentUnit = 0
  private currentUnits = 0
  private nextChunkBytes = firstChunkBytes
  private readonly reserve: Reserve

  constructor(touch?: TouchMemory) {
    this.reserve = new Reserve(chunkBytes, touch)
  }

  /** Allocates a block of at least `length` bytes; its content is undefined. */
  allocate(length: number): BlockRef {
    if (length === 0) return 0
    if (length > sharedBytesMax) {
      // A chunk for a single large block starts at unit 1, like every other.
      return refTo(this.makeChunk(unitBytes + length), 1)
    }
    const sizeClass = classOf(length)
    const reusable = this.freeBlocks[sizeClass - 1]!.pop()
    if (reusable !== undefined) return reusable
    const units = classBytes[sizeClass - 1]! >> unitBits
    if (this.currentUnit + units > this.currentUnits) this.startChunk(units)
    const ref = refTo(this.current, this.currentUnit)
    this.currentUnit += units
    return ref
  }

  /** Frees a block; `length` must be the one it was allocated with. */
  free(ref: BlockRef, length: number): void {
    if (ref === 0) return
    if (length > sharedBytesMax) {
      const index = ref >>> unitsPerChunkBits
      this.hold(index, new Uint8Array(0))
      this.freeChunks.push(index)
      return
    }
    this.freeBlocks[classOf(length) - 1]!.push(ref)
  }

  /** The chunk that holds a block. */
  bytesOf(ref: BlockRef): Uint8Array {
    return this.chunks[ref >>> unitsPerChunkBits]!
  }

  /** A view of the same chunk. */
  viewOf(ref: BlockRef): DataView {
    return this.views[ref >>> unitsPerChunkBits]!
  }

  /** The offset of a block in its chunk. */
  offsetOf(ref: BlockRef): number {
    return (ref & unitMask) << unitBits
  }

  store(source: Uint8Array): BlockRef {
    const ref = this.allocate(source.length)
    if (ref !== 0) this.bytesOf(ref).set(source, this.offsetOf(ref))
    return ref
  }

  /** Like `store`, for a range of something that already has a view. */
  storeView(source: DataView, start: number, end: number): BlockRef {
    const length = end - start
    const ref = this.allocate(length)
    if (ref === 0) return ref
    const offset = this.offsetOf(ref)
    if (length <= wordCopyMax) {
      copyWords(source, start, this.viewOf(ref), offset, length)
    } else {
      this.bytesOf(ref).set(
        new Uint8Array(source.buffer, source.byteOffset + start, length),
        offset,
      )
    }
    return ref
  }

  private startChunk(units: number): void {
    this.currentUnits = Math.max(this.nextChunkBytes >> unitBits, 1 + units)
    this.current = this.makeChunk(this.currentUnits << unitBits)
    this.currentUnit = 1 // unit 0 stays unused, so that no block is named 0
    this.nextChunkBytes = Math.min(chunkBytes, this.nextChunkBytes * 4)
  }

  private makeChunk(length: number): number {
    const index = this.freeChunks.pop() ?? this.chunks.length
    assert(index < chunksMax, 'the tree fits into the addressable arena (64 GiB)')
    const memory = length === chunkBytes ? this.reserve.take() : new ArrayBuffer(length)
    this.hold(index, new Uint8Array(memory))
    return index
  }

  private hold(index: number, bytes: Uint8Array): void {
    this.chunks[index] = bytes
    this.views[index] = new DataView(bytes.buffer)
  }
}
