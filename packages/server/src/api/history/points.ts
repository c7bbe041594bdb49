import type { Point } from '@zabra/core'
import { badRequest } from '../api-error.ts'
import type { Parameter } from '../route.ts'

export const atParameter: Parameter = {
  kind: 'text',
  description: 'After which transaction: its zxid (0x...), or a time (ISO 8601)',
  isRequired: true,
}

/** A zxid or a time in a request. */
export function pointFrom(name: string, text: string): Point {
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) return { zxid: BigInt.asIntN(64, BigInt(text)) }
  const timeMs = Date.parse(text)
  // Date would parse a plain number as a year.
  if (Number.isNaN(timeMs) || !/^\d{4}-/.test(text)) {
    throw badRequest(
      `${name}: expected a zxid such as 0x100000001 or a time such as 2026-01-31T08:00Z`,
    )
  }
  return { timeMs }
}
