/** Text as UTF-8. */
export function encodeText(text: string): Uint8Array {
  return Buffer.from(text, 'utf8')
}

/** UTF-8 as text; invalid bytes become U+FFFD. */
export function decodeText(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return decodeBuffer(source, start, end)
}

const replacement = '\ufffd'

/** As Java decodes: invalid bytes become U+FFFD, and an encoded surrogate becomes a single one. */
export function decodeBuffer(source: Buffer, start: number, end: number): string {
  const text = source.toString('utf8', start, end)
  if (!text.includes(replacement)) return text
  const mended = Buffer.from(source.subarray(start, end))
  for (let i = 0; i + 2 < mended.length; i++) {
    const isSurrogate =
      mended[i] === 0xed && (mended[i + 1]! & 0xe0) === 0xa0 && (mended[i + 2]! & 0xc0) === 0x80
    if (isSurrogate) mended.write(replacement, i, 'utf8')
  }
  return mended.toString('utf8')
}
