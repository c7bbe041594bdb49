/** Points in the past, as people type them: a zxid, a time of day, a date, or how long ago. */

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Returns a point as the API takes it: `0x...`, or a time in ISO 8601. Undefined for other text. Times without a
 * zone are UTC, as on the whole page.
 */
export function pointIn(text: string, nowMs: number): string | undefined {
  const typed = text.trim()
  if (/^0x[0-9a-f]{1,16}$/i.test(typed)) return typed.toLowerCase()
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)\s*(s|m|h|d)[a-z]*(?:\s+ago)?$/i.exec(typed) ?? []
  if (count !== undefined) {
    return new Date(nowMs - Number(count) * units[unit.toLowerCase()]!).toISOString()
  }
  if (/^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(typed)) {
    const today = new Date(nowMs).toISOString().slice(0, 10)
    const at = Date.parse(
      `${today}T${typed.padStart(typed.indexOf(':') === 1 ? typed.length + 1 : 0, '0')}Z`,
    )
    // A time of day that is yet to come was meant of yesterday.
    return Number.isNaN(at) ? undefined : new Date(at > nowMs ? at - units['d']! : at).toISOString()
  }
  if (!/^\d{4}-\d{2}-\d{2}/.test(typed)) return undefined
  const iso = typed.replace(/^(\d{4}-\d{2}-\d{2})[ t]+/i, '$1T').replace(/ *utc$/i, 'Z')
  const hasZone = /(z|[+-]\d{2}:?\d{2})$/i.test(iso.slice(10))
  const at = Date.parse(iso.length === 10 ? iso : hasZone ? iso : `${iso}Z`)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

export const isZxid = (point: string): boolean => point.startsWith('0x')

/** In words that `pointIn` reads again. */
export function pointText(point: string): string {
  return isZxid(point) ? point : point.replace('T', ' ').replace(/(\.000)?Z$/, '')
}

/** Negative if the first is earlier. */
export function compareZxids(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

export function zxidBefore(zxid: string): string {
  return `0x${(BigInt(zxid) - 1n).toString(16)}`
}

export function zxidAfter(zxid: string): string {
  return `0x${(BigInt(zxid) + 1n).toString(16)}`
}

/** `14:03:12.120`, of a time that the API gave. */
export function clockText(iso: string): string {
  return iso.slice(11, 23)
}

const dayFormat = new Intl.DateTimeFormat('en-US', { dateStyle: 'full', timeZone: 'UTC' })

export function dayText(iso: string): string {
  return dayFormat.format(new Date(iso))
}
