import { CodecError, type Codec } from '@zabra/client'
import { isExactly } from '@zabra/client/internal'

/** The same codec; its errors name the node. */
export function codecOfNode<T>(codec: Codec<T>, path: string): Codec<T> {
  return {
    encode: (value) => told(path, () => codec.encode(value)),
    decode: (bytes) => told(path, () => codec.decode(bytes)),
  }
}

function told<T>(path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    // A subclass comes from the codec itself, and is passed through.
    if (isExactly(error, RangeError))
      throw new RangeError(`${error.message}: ${path}`, { cause: error })
    if (!isExactly(error, CodecError)) throw error
    const { message, issues, cause } = error
    throw new CodecError(`${message}: ${path}`, issues, { path, cause })
  }
}
