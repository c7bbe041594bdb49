/** A random UUID (version 4), from the host's random numbers. */
export function makeGuid(random: () => number): string {
  const nibbles = Array.from({ length: 32 }, () => Math.floor(random() * 16))
  nibbles[12] = 4
  nibbles[16] = 8 | (nibbles[16]! & 3)
  const hex = nibbles.map((nibble) => nibble.toString(16)).join('')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
