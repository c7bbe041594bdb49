import { encodeText } from '@zabra/protocol'
import { told, type Codec } from '../codec.ts'
import { shown } from './arguments.ts'

const empty = new Uint8Array(0)

/**
 * The data of a node whose data is null, which the protocol distinguishes from empty data. `get`
 * resolves to this very array, and `create` and `set` accept it; compare with `===`.
 *
 *     const { data } = await client.get('/marker')
 *     if (data === noData) console.log('created without data')
 */
export const noData = new Uint8Array(0)

/**
 * The bytes to store: encoded by the codec; without one, bytes are stored as they are and text as
 * UTF-8.
 */
export function dataBytes(
  value: unknown,
  codec: Codec<unknown> | undefined,
  path: string,
): Uint8Array | null {
  if (codec !== undefined) {
    const made: unknown = told({ path }, () => codec.encode(value))
    if (!(made instanceof Uint8Array))
      throw new TypeError(`a codec encodes to a Uint8Array, not to ${shown(made)}: ${path}`)
    return made
  }
  if (value === undefined) return empty
  if (value === noData) return null
  if (typeof value === 'string') return encodeText(value)
  if (value instanceof Uint8Array) return value
  throw new TypeError('data must be bytes or text, or needs a codec')
}
