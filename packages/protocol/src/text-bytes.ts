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

class LastText implements TextBytes {
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

  encode(text: string): void {
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

const last = new LastText()

/**
 * The bytes of a text, valid until the next call. Reading a string letter by letter is expensive,
 * and most texts that are looked up were just read, or looked up a moment ago.
 */
export function bytesOfText(text: string): TextBytes {
  if (text !== last.text) last.encode(text)
  return last
}

/** The cached bytes of a text, else undefined. */
export function knownBytesOf(text: string): TextBytes | undefined {
  return text === last.text ? last : undefined
}

/** Caches these bytes for a text. */
export function rememberText(text: string, source: DataView, start: number, length: number): void {
  last.remember(text, source, start, length)
}
