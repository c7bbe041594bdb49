import type { Client, Codec } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { AtomicValue } from './atomic-value.ts'

/** Four bytes, big-endian, as in Curator. */
const int32: Codec<number> = {
  encode(value) {
    if ((value | 0) !== value) throw new RangeError(`${value} is not a 32-bit integer`)
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setInt32(0, value)
    return bytes
  },
  decode(bytes) {
    if (bytes.length !== 4) throw new RangeError(`${bytes.length} bytes, where 4 are expected`)
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getInt32(0)
  },
}

/**
 * A whole number that several clients see and set, with its version: `set` sets it unconditionally,
 * `compareAndSet` only if it is unchanged since it was read, and `live` follows it. The layout is
 * that of Curator's SharedCount. To count up and down, use a `Counter`.
 *
 *     const limit = new SharedCount(client, '/limits/uploads', 10)
 *     const seen = await limit.get()
 *     await limit.compareAndSet(seen, seen.value * 2)
 */
export class SharedCount extends AtomicValue<number> {
  /** `initial` is the number before anybody has set it. */
  constructor(client: Client, path: string, initial = 0) {
    super(client, checkPath(path), { codec: int32, initial })
  }
}
