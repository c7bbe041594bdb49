import { copyWords } from './copy-words.ts'
import { LastText } from './last-text.ts'
import type { Reader } from './reader.ts'

const valueBytesMax = 64
const spareBytesMax = 4 * 1024 * 1024

/** A value that was decoded, and its bytes. */
export class LastValue {
  value: object | undefined
  length = 0
  readonly view = new DataView(new ArrayBuffer(valueBytesMax))

  /** Whether the reader is at the bytes of this value. */
  isNext({ view, position, end }: Reader): boolean {
    const { length, view: bytes } = this
    if (this.value === undefined || length > end - position) return false
    let i = 0
    for (const stop = length - 3; i < stop; i += 4) {
      if (view.getInt32(position + i) !== bytes.getInt32(i)) return false
    }
    for (; i < length; i++) if (view.getInt8(position + i) !== bytes.getInt8(i)) return false
    return true
  }

  /** Keeps a value with its bytes, if they are few. */
  remember(value: object, source: DataView, start: number, length: number): void {
    if (length > valueBytesMax) return
    this.value = value
    this.length = length
    copyWords(source, start, this.view, 0, length)
  }
}

/** Released buffers and their views. The last one is probably still in a CPU cache. */
class SpareBuffers {
  private readonly buffers: Buffer[] = []
  private readonly views: DataView[] = []
  private bytes = 0

  /** Whether the next buffer has room for so many bytes. */
  fits(needed: number): boolean {
    const last = this.buffers.length - 1
    return last >= 0 && this.buffers[last]!.length >= needed
  }

  /** The next buffer; its view is taken first. Two calls, because one would have to allocate. */
  takeBuffer(): Buffer {
    const buffer = this.buffers.pop()!
    this.bytes -= buffer.length
    return buffer
  }

  takeView(): DataView {
    return this.views.pop()!
  }

  give(buffer: Buffer, view: DataView): void {
    if (this.bytes + buffer.length > spareBytesMax) return
    this.buffers.push(buffer)
    this.views.push(view)
    this.bytes += buffer.length
  }
}

/**
 * The memory of the readers and writers of one server: a path that was just read is looked up and
 * written next, and most requests come with the same ACL. A server makes one and passes it to its
 * readers and writers; there is no global one.
 */
export class CodecMemory {
  readonly text = new LastText()
  readonly acl = new LastValue()
  readonly buffers = new SpareBuffers()
}
