/** Reads replies; throws if a byte is missing. */
export class StrictReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  long(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8))
  }

  /** Booleans stay numbers, so that 1 and 2 differ. */
  byte(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  buffer(): Buffer | null {
    const length = this.int()
    if (length === -1) return null
    const at = this.#take(length)
    return this.#bytes.subarray(at, at + length)
  }

  /** Text that is not valid UTF-8 is returned as hex. */
  text(): string | null {
    const bytes = this.buffer()
    return bytes === null ? null : textOf(bytes)
  }

  vector<T>(read: () => T): T[] | null {
    const count = this.int()
    if (count === -1) return null
    if (count < 0 || count > 1_000_000) throw new RangeError(`a vector of ${count}`)
    return Array.from({ length: count }, read)
  }

  /** The bytes that have not been read. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#position)
  }

  #take(count: number): number {
    const at = this.#position
    if (count < 0 || at + count > this.#bytes.length) throw new RangeError('the frame ends early')
    this.#position = at + count
    return at
  }
}

export function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : `hex:${bytes.toString('hex')}`
}
