import { UsageError } from './errors.ts'

const durationUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const sizeUnits: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

export function parseInteger(name: string, text: string, min = -Infinity): number {
  const value = Number(text)
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new UsageError(`${name} is a whole number, not '${text}'`)
  if (value < min) throw new UsageError(`${name} is at least ${min}, not ${text}`)
  return value
}

/** Milliseconds; a bare number is in seconds. */
export function parseDuration(name: string, text: string): number {
  const [, digits = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? []
  if (digits === '')
    throw new UsageError(`${name} is a duration such as 500ms, 10s or 2m, not '${text}'`)
  return Math.round(Number(digits) * durationUnits[unit]!)
}

/** Bytes. */
export function parseSize(name: string, text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([kmg])?(?:i?b)?$/i.exec(text) ?? []
  if (digits === '') throw new UsageError(`${name} is a size such as 512, 64k or 1m, not '${text}'`)
  return Math.round(Number(digits) * sizeUnits[unit.toLowerCase()]!)
}
