export function bytesText(count: number): string {
  if (count < 1024) return `${count} B`
  const units = ['KiB', 'MiB', 'GiB']
  let value = count / 1024
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

export function countText(count: number): string {
  return count.toLocaleString('en-US')
}

export function msText(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3
  return `${countText(Number(value.toFixed(digits)))} ms`
}

export function rateText(perSecond: number): string {
  const digits = perSecond >= 100 ? 0 : perSecond >= 10 ? 1 : 2
  return `${Number(perSecond.toFixed(digits)).toLocaleString('en-US')}/s`
}

export function lastingText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const hours = Math.floor(seconds / 3600)
  if (hours < 48) return `${hours} h ${Math.floor((seconds % 3600) / 60)} min`
  return `${Math.floor(hours / 24)} days`
}

export function timeText(iso: string): string {
  const time = new Date(iso)
  return Number.isNaN(time.getTime()) ? iso : time.toISOString().replace('T', ' ').slice(0, 19)
}

/** A count of things, in words. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}

/** A duration to the millisecond, where that matters. */
export function preciseText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : lastingText(ms)
}

/** A time with milliseconds, in which elections are measured. */
export function clockText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 23).replace('T', ' ')
}

const permissionWords: Readonly<Record<string, string>> = {
  r: 'read',
  w: 'write',
  c: 'create children',
  d: 'delete children',
  a: 'change the ACL',
}

export function permsText(perms: string): string {
  if (Array.from('crwda').every((letter) => perms.includes(letter))) return 'do everything'
  const words = Object.entries(permissionWords).filter(([letter]) => perms.includes(letter))
  return words.map(([, word]) => word).join(', ') || 'nothing'
}

export function identityText({ scheme, id }: { scheme: string; id: string }): string {
  if (scheme === 'world') return 'everybody'
  if (scheme === 'digest') return `user ${id.split(':')[0] ?? ''}`
  if (scheme === 'ip') return `address ${id}`
  return `${scheme}: ${id}`
}

/** Text, where bytes are nothing else. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    // oxlint-disable-next-line no-control-regex -- these are what text does not have
    return /[\u0000-\u0008\u000e-\u001f]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** The text laid out, where it is JSON; numbers stay as they are written. */
export function jsonOf(text: string): string | undefined {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return undefined
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return laidOut(text)
}

/** By tokens: a 64-bit number does not fit into a number of JavaScript. */
function laidOut(text: string): string {
  let depth = 0
  let made = ''
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  const line = (): string => `\n${'  '.repeat(depth)}`
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1]
    if (token === '{' || token === '[') {
      depth++
      made += token
      if (next !== '}' && next !== ']') made += line()
    } else if (token === '}' || token === ']') {
      depth--
      const before = tokens[at - 1]
      made += before === '{' || before === '[' ? token : line() + token
    } else if (token === ',') made += token + line()
    else made += token === ':' ? ': ' : token
  }
  return made
}

export function hexOf(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.'))
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text.join('')}`)
  }
  return lines.join('\n')
}
