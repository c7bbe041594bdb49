/** How many bytes are looked at one by one before the words of a longer stretch are. */
const fewBytes = 32

/** Where the zeros that begin at `start` end. Tails of logs hold tens of megabytes of them. */
export function zerosEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  const aligned = (start + fewBytes + 3) & ~3
  for (const few = Math.min(end, aligned); at < few; at++) if (bytes[at] !== 0) return at
  const words = (end - at) >> 2
  if (words > 0 && (bytes.byteOffset & 3) === 0) {
    const view = new Int32Array(bytes.buffer, bytes.byteOffset + at, words)
    let word = 0
    while (word < words && view[word] === 0) word++
    at += word * 4
  }
  while (at < end && bytes[at] === 0) at++
  return at
}

export function allZeros(bytes: Uint8Array, start: number, end: number): boolean {
  return zerosEnd(bytes, start, end) === end
}
