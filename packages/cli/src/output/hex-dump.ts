const lineBytes = 16

/** Offsets, bytes and characters, as `hexdump -C` shows them. */
export function hexDump(data: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < data.length; at += lineBytes) {
    const bytes = data.subarray(at, at + lineBytes)
    const pairs = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    const halves = [pairs.slice(0, 8).join(' '), pairs.slice(8).join(' ')]
    const text = Array.from(bytes, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.',
    )
    lines.push(
      `${at.toString(16).padStart(8, '0')}  ${halves[0]!.padEnd(23)}  ${halves[1]!.padEnd(23)}  |${text.join('')}|\n`,
    )
  }
  return lines.join('')
}
