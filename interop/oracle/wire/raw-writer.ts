import type { Value } from '../program/program.ts'

/** Writes anything, valid or not. */
export class RawWriter {
  readonly #parts: Buffer[] = []

  int(value: number): this {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(value | 0)
    return this.raw(bytes)
  }

  long(value: bigint): this {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt.asIntN(64, value))
    return this.raw(bytes)
  }

  bool(value: boolean | number): this {
    return this.raw(Buffer.from([Number(value) & 255]))
  }

  /** A buffer or text, which look the same on the wire. */
  value(value: Value): this {
    if (value === null) return this.int(-1)
    const bytes = bytesOf(value)
    return this.int(bytes.length).raw(bytes)
  }

  vector<T>(list: readonly T[] | null, write: (element: T) => void): this {
    if (list === null) return this.int(-1)
    this.int(list.length)
    for (const element of list) write(element)
    return this
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes)
    return this
  }

  done(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function bytesOf(value: NonNullable<Value>): Buffer {
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  if ('hex' in value) return Buffer.from(value.hex, 'hex')
  return Buffer.alloc(value.n, value.fill)
}

/** A length, then the bytes. */
export function frame(bytes: Buffer): Buffer {
  return Buffer.concat([new RawWriter().int(bytes.length).done(), bytes])
}
