import { bytesOfText, lastSlash, rememberText } from '@zabra/protocol'

const prime = 0x01000193
const slash = 0x2f
const dot = 0x2e

/**
 * One more byte of the path that has this hash. Paths that differ in their last letter only have
 * hashes next to each other, so that the nodes of a sequence stand near each other in the index:
 * in a large tree whatever is looked at far away is a wait for memory.
 */
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash, prime) ^ byte
}

/** Goes on from the hash of what stands before `start`. */
export function hashBytes(hash: number, bytes: Uint8Array, start: number, end: number): number {
  let result = hash
  for (let i = start; i < end; i++) result = hashByte(result, bytes[i]!)
  return result
}

/** 1 for each byte that a plain path does not have. */
const isSpecial = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte > 0x7e || byte === dot ? 1 : 0,
)

const noBytes = new Uint8Array(0)
const noView = new DataView(noBytes.buffer)

/** A path that was looked at once: its bytes, and what can be said of them in passing. */
export class ScannedPath {
  text = ''
  bytes: Uint8Array = noBytes
  /** The same bytes. */
  view: DataView = noView
  start = 0
  end = 0
  /** Where its name begins, and its parent's path ends; before `start` where it has none. */
  slashAt = -1
  hash = 0
  /** That of its parent. */
  parentHash = 0
  /** Whether it surely is legal: of printable ASCII without dots, with a slash before each name. */
  isPlain = false

  /** Both `/` and the empty path are. */
  get isRoot(): boolean {
    return this.end === this.start || (this.end === this.start + 1 && this.slashAt === this.start)
  }

  /** Its parent is the root: also that of `//name`, which is refused for another reason. */
  get isBelowRoot(): boolean {
    const { bytes, start, slashAt } = this
    return slashAt === start || (slashAt === start + 1 && bytes[start] === slash)
  }

  /** Where a string of this path is to be cut for its parent's path. */
  get parentLength(): number {
    const { text, start, end, slashAt } = this
    return text.length === end - start ? slashAt - start : lastSlash(text)
  }
}

/** Where bytes can be put that must not be gone with the next path. */
export interface Keeper {
  readonly bytes: Uint8Array
  readonly view: DataView
  place(source: DataView, start: number, end: number): number
}

/** The same, to stay. */
export function keepScanned(from: ScannedPath, keeper: Keeper): ScannedPath {
  return scannedAt(from, keeper, keeper.place(from.view, from.start, from.end))
}

/** The same of a copy of its bytes. */
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

/** Whoever writes the text of this path next need not look at it letter by letter. */
export function rememberPath({ text, view, start, end }: ScannedPath): void {
  rememberText(text, view, start, end - start)
}

/** Looks at paths, one at a time: what was said of one is gone with the next. */
export class PathScanner {
  private readonly seed: number
  private readonly scanned = new ScannedPath()
  private serial = -1

  /** The seed is the hash of the root. */
  constructor(seed: number) {
    this.seed = seed
  }

  scan(path: string): ScannedPath {
    const { bytes, view, length, serial } = bytesOfText(path)
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
