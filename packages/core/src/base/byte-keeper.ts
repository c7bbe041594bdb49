import { copyWords, Reader, wordCopyMax, type BufferKeeper } from '@zabra/protocol'

const slabBytesMin = 256 * 1024

/**
 * Copies of bytes that must outlive the chunk they were received in. They share a slab, which goes
 * when the last of them is gone: a copy then costs hardly more than the copying.
 */
export class ByteKeeper implements BufferKeeper {
  /** The slab that the last copy lies in. */
  bytes = new Uint8Array(0)
  /** The same bytes. */
  view = new DataView(this.bytes.buffer)
  /** The same again: to ask an array for its buffer, or its length, costs more than a copy. */
  private slab = this.view.buffer
  private slabBytes = 0
  private used = 0
  private readonly reader = new Reader()
  /** For what is read from a copy, and so needs none of its own. */
  private readonly inPlace: BufferKeeper = {
    keep: (_, start, end) => new Uint8Array(this.slab, start, end - start),
  }

  keep(source: DataView, start: number, end: number): Uint8Array {
    const at = this.place(source, start, end)
    return new Uint8Array(this.slab, at, end - start)
  }

  /** A reader of a copy of all that another one has not read; it is the same one each time. */
  keepRest({ view, position, end }: Reader): Reader {
    const at = this.place(view, position, end)
    this.reader.keeper = this.inPlace
    return this.reader.reset(this.bytes, at, at + end - position)
  }

  /** The same without anything made for it: says where in `bytes` the copy begins. */
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
