import { CodecError, type Codec } from '@zabra/client'

/** The same codec; where it fails, the error says of which node. */
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
    // Not what somebody has made of it.
    if (isPlain(error, RangeError))
      throw new RangeError(`${error.message}: ${path}`, { cause: error })
    if (!isPlain(error, CodecError)) throw error
    const { message, issues, cause } = error
    throw new CodecError(`${message}: ${path}`, issues, { path, cause })
  }
}

function isPlain<E extends Error>(error: unknown, kind: new (message: string) => E): error is E {
  return error instanceof kind && error.constructor === kind
}
