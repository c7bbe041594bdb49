/** The bytes of a textual address: 4 for IPv4, 16 for IPv6; undefined if it is neither. */
export function parseAddress(text: string): number[] | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text)
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const bytes: number[] = []
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined
    bytes.push(Number(part))
  }
  return bytes
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half, i) =>
    half === '' ? [] : parseGroups(half.split(':'), i === halves.length - 1),
  )
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 16 ? head : undefined
  if (tail === undefined || head.length + tail.length > 14) return undefined
  return [...head, ...Array<number>(16 - head.length - tail.length).fill(0), ...tail]
}

/** Only the end of the whole address may be in IPv4 notation. */
function parseGroups(groups: readonly string[], isEnd: boolean): number[] | undefined {
  const bytes: number[] = []
  for (const [i, group] of groups.entries()) {
    if (isEnd && i === groups.length - 1 && group.includes('.')) {
      const v4 = parseV4(group)
      if (v4 === undefined) return undefined
      bytes.push(...v4)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
    }
  }
  return bytes
}

interface Network {
  readonly address: number[]
  readonly bits: number
}

/** An address with an optional `/bits`. */
export function parseNetwork(text: string): Network | undefined {
  const slash = text.indexOf('/')
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === undefined) return undefined
  const bitsMax = address.length * 8
  if (slash < 0) return { address, bits: bitsMax }
  const bitsText = text.slice(slash + 1)
  const bits = Number(bitsText)
  return /^\d{1,3}$/.test(bitsText) && bits <= bitsMax ? { address, bits } : undefined
}

export function isInNetwork(address: string, network: string): boolean {
  const bytes = parseAddress(address)
  const range = parseNetwork(network)
  if (bytes === undefined || range === undefined) return false
  if (bytes.length !== range.address.length) return false
  for (let i = 0, bits = range.bits; bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : (0xff << (8 - bits)) & 0xff
    if ((bytes[i]! & mask) !== (range.address[i]! & mask)) return false
  }
  return true
}
