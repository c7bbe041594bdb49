import { copyWords, wordCopyMax, type BufferKeeper } from '@zabra/protocol'

const slabBytes = 256 * 1024
const sharedBytesMax = 32 * 1024

/**
 * Copies of bytes that must outlive the chunk they were received in. Short ones share a slab,
 * which goes when the last of them is gone: a copy then costs hardly more than the copying.
 */
export class ByteKeeper implements BufferKeeper {
  private slab = new ArrayBuffer(0)
  private view = new DataView(this.slab)
  private used = 0

  keep(source: DataView, start: number, end: number): Uint8Array {
    const length = end - start
    if (length > sharedBytesMax) return new Uint8Array(bytesOf(source, start, length))
    if (this.used + length > this.slab.byteLength) {
      this.slab = new ArrayBuffer(slabBytes)
      this.view = new DataView(this.slab)
      this.used = 0
    }
    const kept = new Uint8Array(this.slab, this.used, length)
    if (length <= wordCopyMax) copyWords(source, start, this.view, this.used, length)
    else kept.set(bytesOf(source, start, length))
    this.used += length
    return kept
  }
}

function bytesOf({ buffer, byteOffset }: DataView, start: number, length: number): Uint8Array {
  return new Uint8Array(buffer, byteOffset + start, length)
}
