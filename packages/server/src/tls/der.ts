/** The bytes are not valid DER, or have another structure than expected. */
export class DerError extends Error {
  override readonly name = 'DerError'
}

/** One value of DER, or of BER with indefinite lengths. */
export interface DerValue {
  readonly tag: number
  /** Including tag and length. */
  readonly bytes: Uint8Array
  readonly content: Uint8Array
}

export const derTags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  /** [0], constructed. */
  context0: 0xa0,
} as const

/** Deeper nesting is an attack or an error: no key store has it. */
const depthMax = 32
const constructedBit = 0x20
const longTagMask = 0x1f

/** Reads the value that the bytes begin with. */
export function readDer(bytes: Uint8Array, depth = 0): DerValue {
  if (depth > depthMax) throw new DerError('values are nested too deeply')
  if (bytes.length < 2) throw new DerError('a value is cut short')
  const tag = bytes[0]!
  if ((tag & longTagMask) === longTagMask) throw new DerError('a tag of several bytes')
  const first = bytes[1]!
  if (first === 0x80) return readIndefinite(bytes, tag, depth)
  let length = first
  let at = 2
  if (first > 0x80) {
    const lengthBytes = first & 0x7f
    if (lengthBytes > 4) throw new DerError('a length of more than four bytes')
    length = 0
    for (const end = at + lengthBytes; at < end; at++) {
      if (at >= bytes.length) throw new DerError('a value is cut short')
      length = length * 256 + bytes[at]!
    }
  }
  if (at + length > bytes.length) throw new DerError('a value is cut short')
  return { tag, bytes: bytes.subarray(0, at + length), content: bytes.subarray(at, at + length) }
}

/** A value of indefinite length ends with two zero bytes. */
function readIndefinite(bytes: Uint8Array, tag: number, depth: number): DerValue {
  if ((tag & constructedBit) === 0) throw new DerError('a plain value without a length')
  let at = 2
  for (;;) {
    const rest = bytes.subarray(at)
    if (rest.length < 2) throw new DerError('a value is cut short')
    if (rest[0] === 0 && rest[1] === 0) break
    at += readDer(rest, depth + 1).bytes.length
  }
  return { tag, bytes: bytes.subarray(0, at + 2), content: bytes.subarray(2, at) }
}

/** The values in a constructed one. */
export function derChildren(value: DerValue, expected?: number): DerValue[] {
  if (expected !== undefined) expectTag(value, expected)
  const children: DerValue[] = []
  for (let at = 0; at < value.content.length;) {
    const child = readDer(value.content.subarray(at))
    children.push(child)
    at += child.bytes.length
  }
  return children
}

/** The value, if it has this tag. */
export function expectTag(value: DerValue | undefined, tag: number): DerValue {
  if (value === undefined) throw new DerError('a value is missing')
  if (value.tag !== tag) {
    throw new DerError(
      `a value with the tag 0x${value.tag.toString(16)}, not 0x${tag.toString(16)}`,
    )
  }
  return value
}

/** The bytes of an octet string, which BER may split into pieces. */
export function octets(value: DerValue | undefined): Uint8Array {
  if (value === undefined) throw new DerError('a value is missing')
  if ((value.tag & constructedBit) === 0) return value.content
  return Buffer.concat(derChildren(value).map(octets))
}

/** `1.2.840.113549.1.7.1`. */
export function oidText(value: DerValue | undefined): string {
  const { content } = expectTag(value, derTags.oid)
  const arcs: bigint[] = []
  let arc = 0n
  for (const byte of content) {
    arc = (arc << 7n) | BigInt(byte & 0x7f)
    if ((byte & 0x80) !== 0) continue
    arcs.push(arc)
    arc = 0n
  }
  const [head = 0n, ...tail] = arcs
  const root = head < 80n ? head / 40n : 2n
  return [root, head - root * 40n, ...tail].join('.')
}

/** A whole number within a limit. */
export function smallInteger(value: DerValue | undefined, max = 2 ** 31): number {
  const { content } = expectTag(value, derTags.integer)
  let number = 0
  for (const byte of content) number = number * 256 + byte
  if (content.length === 0 || (content[0]! & 0x80) !== 0 || number > max) {
    throw new DerError('a number is out of range')
  }
  return number
}
