import { lastSlash, LastText } from '@zabra/protocol'

const prime = 0x01000193
const slash = 0x2f
const dot = 0x2e

/**
 * Extends a path hash by one byte. Paths that differ only in their last character get adjacent
 * hashes, so the nodes of a sequence are close together in the index. In a large tree this avoids
 * cache misses.
 */
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash, prime) ^ byte
}

/** Extends a hash by a range of bytes. */
export function hashBytes(hash: number, bytes: Uint8Array, start: number, end: number): number {
  let result = hash
  for (let i = start; i < end; i++) result = hashByte(result, bytes[i]!)
  return result
}

/** 1 for each byte that a plain path does not contain. */
const isSpecial = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte > 0x7e || byte === dot ? 1 : 0,
)

const noBytes = new Uint8Array(0)
const noView = new DataView(noBytes.buffer)

/** A path that was scanned once: its bytes, and what the scan found out about it. */
export class ScannedPath {
  text = ''
  bytes: Uint8Array = noBytes
  /** A view of the same bytes. */
  view: DataView = noView
  start = 0
  end = 0
  /**
   * The position of the last slash, where the name begins and the parent's path ends; before
   * `start` if there is none.
   */
  slashAt = -1
  hash = 0
  /** The hash of the parent's path. */
  parentHash = 0
  /**
   * Whether the path is certainly legal: printable ASCII without dots, and a slash before each
   * name.
   */
  isPlain = false

  /** Both `/` and the empty path are the root. */
  get isRoot(): boolean {
    return this.end === this.start || (this.end === this.start + 1 && this.slashAt === this.start)
  }

  /**
   * Whether the parent is the root. Also true for `//name`, which is refused for another reason.
   */
  get isBelowRoot(): boolean {
    const { bytes, start, slashAt } = this
    return slashAt === start || (slashAt === start + 1 && bytes[start] === slash)
  }

  /** The length of the parent's path in the text of this one. */
  get parentLength(): number {
    const { text, start, end, slashAt } = this
    return text.length === end - start ? slashAt - start : lastSlash(text)
  }
}

/** Stores bytes that must survive the next scan. */
export interface Keeper {
  readonly bytes: Uint8Array
  readonly view: DataView
  place(source: DataView, start: number, end: number): number
}

/** Copies a scanned path so that it survives the next scan. */
export function keepScanned(from: ScannedPath, keeper: Keeper): ScannedPath {
  return scannedAt(from, keeper, keeper.place(from.view, from.start, from.end))
}

/** The same path in a copy of its bytes. */
export function scannedAt(
  from: ScannedPath,
  { bytes, view }: Pick<Keeper, 'bytes' | 'view'>,
  start: number,
): ScannedPath {
  const kept = new ScannedPath()
  const moved = start - from.start
  kept.text = from.text
  kept.bytes = bytes
  kept.view = view
  kept.start = from.start + moved
  kept.end = from.end + moved
  kept.slashAt = from.slashAt + moved
  kept.hash = from.hash
  kept.parentHash = from.parentHash
  kept.isPlain = from.isPlain
  return kept
}

/** Scans paths, one at a time: each result is overwritten by the next scan. */
export class PathScanner {
  private readonly seed: number
  private readonly scanned = new ScannedPath()
  private lastText: LastText
  private serial = -1

  /** The seed is the hash of the root. */
  constructor(seed: number, lastText = new LastText()) {
    this.seed = seed
    this.lastText = lastText
  }

  shareText(lastText: LastText): void {
    this.lastText = lastText
    this.serial = -1
  }

  scan(path: string): ScannedPath {
    const { bytes, view, length, serial } = this.lastText.of(path)
    const { scanned } = this
    if (serial === this.serial) return scanned
    this.serial = serial
    let { seed: hash, seed: parentHash } = this
    let slashAt = -1
    let specials = length > 0 && bytes[0] === slash ? 0 : 1
    for (let i = 0; i < length; i++) {
      const byte = bytes[i]!
      if (byte === slash) {
        if (i === slashAt + 1 && i > 0) specials = 1
        parentHash = hash
        slashAt = i
      }
      specials |= isSpecial[byte]!
      hash = hashByte(hash, byte)
    }
    scanned.text = path
    scanned.bytes = bytes
    scanned.view = view
    scanned.end = length
    scanned.slashAt = slashAt
    scanned.parentHash = scanned.isBelowRoot ? this.seed : parentHash
    scanned.hash = scanned.isRoot ? this.seed : hash
    scanned.isPlain = specials === 0 && (slashAt < length - 1 || length === 1)
    return scanned
  }
}
