import type { Point } from '@zabra/core'
import type { Options } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { cleanPath } from '../node/paths.ts'
import type { LoggedChange, Transaction } from './transactions.ts'

/** Options that choose transactions. */
export const filterOptions = {
  path: { type: 'text', value: 'PATH', help: 'transactions that change this node or its subtree' },
  session: { type: 'text', value: 'ID', help: 'transactions of this session, in hexadecimal' },
  operation: {
    type: 'text',
    many: true,
    help: 'transactions of this kind: create, setData, closeSession, ...',
  },
  from: { type: 'text', value: 'ZXID|TIME', help: 'start at this zxid (0x...) or time (ISO 8601)' },
  to: { type: 'text', value: 'ZXID|TIME', help: 'stop at this zxid or time' },
} as const satisfies Options

export interface FilterValues {
  readonly path?: string
  readonly session?: string
  readonly operation?: readonly string[]
  readonly from?: string
  readonly to?: string
}

/** Whether a transaction is wanted. */
export function filterOf(values: FilterValues): (transaction: Transaction) => boolean {
  const path = values.path === undefined ? undefined : cleanPath(values.path)
  const session = values.session === undefined ? undefined : hexOf('--session', values.session)
  const { operation } = values
  const from = values.from === undefined ? undefined : pointOf('--from', values.from)
  const to = values.to === undefined ? undefined : pointOf('--to', values.to)
  const isAt = (change: LoggedChange): boolean =>
    change.path === path || path === '/' || change.path?.startsWith(`${path}/`) === true
  return (txn) =>
    (from === undefined || !isBefore(txn, from)) &&
    (to === undefined || !isAfter(txn, to)) &&
    (session === undefined || BigInt.asUintN(64, txn.session) === session) &&
    (operation === undefined ||
      operation.includes(txn.operation) ||
      txn.changes.some((change) => operation.includes(change.operation))) &&
    (path === undefined || txn.changes.some(isAt))
}

function isBefore({ zxid, timeMs }: Transaction, point: Point): boolean {
  return 'zxid' in point ? zxid < point.zxid : timeMs < point.timeMs
}

function isAfter({ zxid, timeMs }: Transaction, point: Point): boolean {
  return 'zxid' in point ? zxid > point.zxid : timeMs > point.timeMs
}

export function hexOf(name: string, text: string): bigint {
  const digits = text.replace(/^0x/i, '')
  if (!/^[0-9a-f]{1,16}$/i.test(digits))
    throw new UsageError(`${name} is a hexadecimal number, not '${text}'`)
  return BigInt(`0x${digits}`)
}

export function pointOf(name: string, text: string): Point {
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) return { zxid: BigInt(text) }
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs))
    throw new UsageError(
      `${name} is a zxid such as 0x100000001 or a time such as 2026-01-31T08:00, not '${text}'`,
    )
  return { timeMs }
}
