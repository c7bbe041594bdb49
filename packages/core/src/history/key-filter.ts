/** A Bloom filter over keys: it can tell for certain that a key is not among them. */
const bitsPerKey = 10
const probes = 5
const bytesMin = 8

export function makeKeyFilter(keys: ReadonlySet<number>): Uint8Array {
  const filter = new Uint8Array(Math.max(bytesMin, Math.ceil((keys.size * bitsPerKey) / 8)))
  const bits = filter.length * 8
  for (const key of keys) {
    let probe = key >>> 0
    for (let i = 0; i < probes; i++) {
      const bit = probe % bits
      filter[bit >> 3]! |= 1 << (bit & 7)
      probe = next(probe, key)
    }
  }
  return filter
}

export function mayHold(filter: Uint8Array, key: number): boolean {
  const bits = filter.length * 8
  let probe = key >>> 0
  for (let i = 0; i < probes; i++) {
    const bit = probe % bits
    if ((filter[bit >> 3]! & (1 << (bit & 7))) === 0) return false
    probe = next(probe, key)
  }
  return true
}

function next(probe: number, key: number): number {
  return (Math.imul(probe, 0x85ebca6b) + (key | 1) + (probe >>> 13)) >>> 0
}
