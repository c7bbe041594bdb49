/** One value of DER: tag, length, content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length: number[] = []
  for (let left = body.length; left > 0; left >>>= 8) length.unshift(left & 0xff)
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length, ...length]), body])
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content)
export const set = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content)
export const octetString = (content: Uint8Array): Buffer => der(0x04, content)
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  der(0x03, Buffer.from([unusedBits]), content)
export const utf8String = (text: string): Buffer => der(0x0c, Buffer.from(text))
export const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]))
/** A constructed value with tag [n]. */
export const explicit = (n: number, ...content: readonly Uint8Array[]): Buffer =>
  der(0xa0 | n, ...content)

/** A number that is not negative, from its bytes. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  return der(0x02, (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits)
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes: number[] = []
  for (const arc of [first * 40 + second, ...rest]) {
    const septets = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      septets.unshift((left & 0x7f) | 0x80)
    }
    bytes.push(...septets)
  }
  return der(0x06, Buffer.from(bytes))
}

/** A time in the format of certificates: two digits for years before 2050, four after that. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(digits.slice(2)))
    : der(0x18, Buffer.from(digits))
}
