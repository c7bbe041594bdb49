import { copyWords, Reader, wordCopyMax, type BufferKeeper } from '@zabra/protocol'

const slabBytesMin = 256 * 1024

/**
 * Copies bytes that must outlive the chunk they were received in. The copies share a slab, which is
 * freed together with its last copy, so a copy costs little more than copying the bytes.
 */
export class ByteKeeper implements BufferKeeper {
  /** The slab that holds the last copy. */
  bytes = new Uint8Array(0)
  /** A view of the same bytes. */
  view = new DataView(this.bytes.buffer)
  /** The same buffer once more: reading `buffer` or `length` of an array costs more than a copy. */
  private slab = this.view.buffer
  private slabBytes = 0
  private used = 0
  private readonly reader = new Reader()
  /** For what is read from a copy and therefore needs no copy of its own. */
  private readonly inPlace: BufferKeeper = {
    keep: (_, start, end) => new Uint8Array(this.slab, start, end - start),
  }

  keep(source: DataView, start: number, end: number): Uint8Array {
    const at = this.place(source, start, end)
    return new Uint8Array(this.slab, at, end - start)
  }

  /**
   * Copies all that a reader has not read yet and returns a reader of the copy. It is the same
   * reader each time.
   */
  keepRest({ view, position, end, memory }: Reader): Reader {
    const at = this.place(view, position, end)
    this.reader.keeper = this.inPlace
    this.reader.memory = memory
    return this.reader.reset(this.bytes, at, at + end - position)
  }

  /** Copies the bytes without creating an object; returns where in `bytes` the copy begins. */
  place(source: DataView, start: number, end: number): number {
    const length = end - start
    const at = this.makeRoom(length)
    if (length <= wordCopyMax) copyWords(source, start, this.view, at, length)
    else this.bytes.set(new Uint8Array(source.buffer, source.byteOffset + start, length), at)
    return at
  }

  private makeRoom(length: number): number {
    if (this.used + length > this.slabBytes) {
      this.slabBytes = Math.max(slabBytesMin, length)
      this.slab = new ArrayBuffer(this.slabBytes)
      this.bytes = new Uint8Array(this.slab)
      this.view = new DataView(this.slab)
      this.used = 0
    }
    const at = this.used
    this.used += length
    return at
  }
}
