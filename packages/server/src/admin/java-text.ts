/** Numbers and dates as Java prints them, since tools rely on that. */

/** A double always has a fraction: `0.0`, `9.1739`. */
export function doubleText(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}

/** At most four decimals, the format of averages. */
export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

/** 64 bits without sign, as in `Long.toHexString`. */
export function hexDigits(value: bigint): string {
  return BigInt.asUintN(64, value).toString(16)
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** `Sun Nov 15 07:07:11 UTC 2026`. */
export function dateText(wallMs: number): string {
  const date = new Date(wallMs)
  const day = String(date.getUTCDate()).padStart(2, '0')
  const time = date.toISOString().slice(11, 19)
  return `${days[date.getUTCDay()]} ${months[date.getUTCMonth()]} ${day} ${time} UTC ${date.getUTCFullYear()}`
}
