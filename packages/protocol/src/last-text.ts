import { copyWords, wordCopyMax } from './copy-words.ts'

const capacityAtFirst = 256
/** Maximum number of bytes per UTF-16 unit of a string. */
const bytesPerUnitMax = 3

/** A text and its UTF-8 bytes, which are those from 0 to `length`. */
export interface TextBytes {
  readonly text: string
  readonly bytes: Uint8Array
  /** A view of the same bytes. */
  readonly view: DataView
  readonly length: number
  /** Changes whenever the entry gets another text. */
  readonly serial: number
}

/**
 * The text that was read, written or looked up last. Reading a string letter by letter is expensive,
 * and most texts that are looked up were just read, or looked up a moment ago.
 */
export class LastText implements TextBytes {
  text = ''
  length = 0
  serial = 0
  bytes: Uint8Array
  view: DataView
  private buffered: Buffer
  private capacity = capacityAtFirst

  constructor() {
    this.bytes = this.buffered = Buffer.alloc(capacityAtFirst)
    this.view = viewOf(this.buffered)
  }

  /** The bytes of a text, valid until the next call. */
  of(text: string): TextBytes {
    if (text !== this.text) this.encode(text)
    return this
  }

  private encode(text: string): void {
    const { length } = text
    this.ensure(bytesPerUnitMax * length)
    this.text = text
    this.serial = (this.serial + 1) | 0
    const { bytes } = this
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) {
        this.length = this.buffered.write(text, 'utf8')
        return
      }
      bytes[i] = code
    }
    this.length = length
  }

  /** Keeps these bytes for a text. */
  remember(text: string, source: DataView, start: number, length: number): void {
    this.ensure(length)
    this.text = text
    this.serial = (this.serial + 1) | 0
    this.length = length
    if (length <= wordCopyMax) copyWords(source, start, this.view, 0, length)
    else this.bytes.set(new Uint8Array(source.buffer, source.byteOffset + start, length))
  }

  private ensure(capacity: number): void {
    if (capacity <= this.capacity) return
    this.capacity = 2 * capacity
    this.bytes = this.buffered = Buffer.alloc(this.capacity)
    this.view = viewOf(this.buffered)
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
