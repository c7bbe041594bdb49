/** Up to this length, copying word by word is faster than a call out of JavaScript. */
export const wordCopyMax = 128

/** Copies a short range, four bytes at a time. */
export function copyWords(
  source: DataView,
  from: number,
  target: DataView,
  to: number,
  length: number,
): void {
  let i = 0
  for (const stop = length - 15; i < stop; i += 16) {
    target.setInt32(to + i, source.getInt32(from + i))
    target.setInt32(to + i + 4, source.getInt32(from + i + 4))
    target.setInt32(to + i + 8, source.getInt32(from + i + 8))
    target.setInt32(to + i + 12, source.getInt32(from + i + 12))
  }
  for (const stop = length - 3; i < stop; i += 4) {
    target.setInt32(to + i, source.getInt32(from + i))
  }
  for (; i < length; i++) target.setInt8(to + i, source.getInt8(from + i))
}
