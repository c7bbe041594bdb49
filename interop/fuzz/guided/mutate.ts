import type { Random } from '../../../packages/server/test/support/random.ts'

/** Numbers at which code often behaves differently. */
const edges = [
  -1, 0, 1, 2, 4, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 1000, 1023, 1024, 4096,
  32767, 32768, 65_535, 65_536, 1_048_575, 1_048_576, 0x7fff_ffff, -0x8000_0000,
]

export interface MutateOptions {
  readonly random: Random
  readonly dictionary: readonly Uint8Array[]
  /** Returns another input, to take a piece of it. */
  readonly other: () => Uint8Array
  readonly bytesMax: number
}

/** An input that differs from the given one in a few places. */
export function mutate(input: Uint8Array, options: MutateOptions): Uint8Array {
  let bytes = input
  const rounds = 1 << options.random.int(5)
  for (let round = 0; round < rounds; round++) bytes = mutateOnce(bytes, options)
  return bytes.length > options.bytesMax ? bytes.subarray(0, options.bytesMax) : bytes
}

function mutateOnce(input: Uint8Array, { random, dictionary, other }: MutateOptions): Uint8Array {
  const at = random.int(input.length + 1)
  const length = Math.min(input.length - at, 1 << random.int(9))
  switch (random.int(input.length === 0 ? 2 : 12)) {
    case 0:
      return splice(input, at, 0, random.bytes(1 << random.int(6)))
    case 1:
      return dictionary.length === 0 ? input : splice(input, at, 0, random.pick(dictionary))
    case 2:
      return changed(input, at, (byte) => byte ^ (1 << random.int(8)))
    case 3:
      return changed(input, at, () => random.int(256))
    case 4:
      return changed(input, at, (byte) => byte + random.between(-16, 16))
    case 5:
      return splice(input, at, length, new Uint8Array(0))
    case 6: // Repeats a piece.
      return splice(input, at, 0, input.subarray(at, at + length))
    case 7: {
      const from = other()
      const start = random.int(from.length + 1)
      const piece = from.subarray(start, start + (1 << random.int(10)))
      return splice(input, at, random.chance(0.5) ? 0 : piece.length, piece)
    }
    case 8: {
      if (dictionary.length === 0) return input
      const token = random.pick(dictionary)
      return splice(input, at, token.length, token)
    }
    case 9:
      return withInt(input, at, random.pick(edges))
    case 10: // A plausible length: that of the rest, or of a part of it.
      return withInt(input, at, random.int(Math.max(1, input.length - at - 3)))
    default: // As 9, with eight bytes.
      return withInt(withInt(input, at, random.pick([0, -1])), at + 4, random.pick(edges))
  }
}

function splice(input: Uint8Array, at: number, removed: number, added: Uint8Array): Uint8Array {
  const end = Math.min(input.length, at + removed)
  const result = new Uint8Array(input.length - (end - at) + added.length)
  result.set(input.subarray(0, at))
  result.set(added, at)
  result.set(input.subarray(end), at + added.length)
  return result
}

function changed(input: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  if (at >= input.length) return input
  const result = input.slice()
  result[at] = change(result[at]!)
  return result
}

function withInt(input: Uint8Array, at: number, value: number): Uint8Array {
  if (at + 4 > input.length) return input
  const result = input.slice()
  new DataView(result.buffer).setInt32(at, value)
  return result
}
