/** The part of the tar format that backups need: files in one folder, one after another. */
const blockBytes = 512
const sizeAt = 124
const checksumAt = 148

export function tarHeader(name: string, bytes: number, mtimeMs: number): Uint8Array {
  const block = Buffer.alloc(blockBytes)
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a tar file`)
  block.write(name, 0)
  block.write('0000644\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  writeNumber(block, sizeAt, bytes)
  writeNumber(block, 136, Math.floor(mtimeMs / 1000))
  block.write('        ', checksumAt)
  block.write('0', 156)
  block.write('ustar\u000000', 257, 'latin1')
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, checksumAt, 'latin1')
  return block
}

/** Octal, or binary where that has too few digits. */
function writeNumber(block: Buffer, at: number, value: number): void {
  if (value < 8 ** 11) {
    block.write(`${value.toString(8).padStart(11, '0')}\0`, at, 'latin1')
    return
  }
  block[at] = 0x80
  block.writeBigUInt64BE(BigInt(value), at + 4)
}

function sumOf(block: Buffer): number {
  let sum = 0
  for (let i = 0; i < blockBytes; i++)
    sum += i >= checksumAt && i < checksumAt + 8 ? 0x20 : block[i]!
  return sum
}

/** Zeros up to the next block. */
export function tarPadding(bytes: number): Uint8Array {
  return new Uint8Array((blockBytes - (bytes % blockBytes)) % blockBytes)
}

export const tarEnd = new Uint8Array(2 * blockBytes)

export interface TarEntry {
  readonly name: string
  readonly bytes: number
  /** To be read before the next entry. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/** The files of a tar stream. Throws where it is cut off or damaged. */
export async function* readTar(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<TarEntry, void, void> {
  const input = new Input(stream)
  for (;;) {
    const block = await input.take(blockBytes)
    if (block === undefined) throw new Error('the stream ends before its end mark')
    if (block.every((byte) => byte === 0)) return
    const sum = Number.parseInt(block.toString('latin1', checksumAt, checksumAt + 6), 8)
    if (sum !== sumOf(block)) throw new Error('a header of the stream is damaged')
    const name = block.toString('utf8', 0, block.indexOf(0) < 100 ? block.indexOf(0) : 100)
    const bytes =
      block[sizeAt] === 0x80
        ? Number(block.readBigUInt64BE(sizeAt + 4))
        : Number.parseInt(block.toString('latin1', sizeAt, sizeAt + 11), 8)
    yield { name, bytes, chunks: input.pieces(bytes) }
    await input.take(tarPadding(bytes).length)
  }
}

class Input {
  private readonly iterator: AsyncIterator<Uint8Array>
  private rest = Buffer.alloc(0)

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.iterator = stream[Symbol.asyncIterator]()
  }

  /** Undefined at the end of the stream. */
  async take(bytes: number): Promise<Buffer | undefined> {
    while (this.rest.length < bytes) {
      const next = await this.iterator.next()
      if (next.done === true) return undefined
      this.rest = Buffer.concat([this.rest, next.value])
    }
    const taken = this.rest.subarray(0, bytes)
    this.rest = this.rest.subarray(bytes)
    return taken
  }

  async *pieces(bytes: number): AsyncGenerator<Uint8Array, void, void> {
    for (let left = bytes; left > 0;) {
      if (this.rest.length === 0) {
        const next = await this.iterator.next()
        if (next.done === true) throw new Error('the stream is cut off within a file')
        this.rest = Buffer.from(next.value)
      }
      const piece = this.rest.subarray(0, left)
      this.rest = this.rest.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }
}
