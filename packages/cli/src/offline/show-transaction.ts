import type { Output } from '../output/output.ts'
import { dataJson } from '../node/data.ts'
import { hex } from '../node/stat.ts'
import type { LoggedChange, Transaction } from './transactions.ts'

/** Prints a transaction: a line for it, or one for each change of a multi. */
export function showTransaction(txn: Transaction, out: Output, withData: boolean): void {
  if (out.json) {
    out.dataLine(transactionJson(txn, withData))
    return
  }
  const { zxid, timeMs, session, cxid, operation, changes } = txn
  const head = `${hex(zxid)} ${timeOf(timeMs)} session ${hex(session)} cxid ${cxid}`
  if (operation !== 'multi' && changes.length <= 1) {
    const [change] = changes
    out.line(`${head} ${change === undefined ? operation : describe(change, withData)}`)
    return
  }
  out.line(`${head} ${operation}`)
  for (const change of changes) out.line(`  ${describe(change, withData)}`)
}

function describe(
  { operation, path, data, error, version }: LoggedChange,
  withData: boolean,
): string {
  const parts = [operation]
  if (path !== undefined) parts.push(path)
  if (version !== undefined) parts.push(`version ${version}`)
  if (error !== undefined) parts.push(error)
  if (data !== undefined)
    parts.push(withData ? JSON.stringify(textOf(data)) : `${data.length} bytes`)
  return parts.join(' ')
}

function transactionJson(txn: Transaction, withData: boolean): object {
  const { zxid, timeMs, session, cxid, operation, changes, file, position, bytes, digest } = txn
  return {
    zxid: hex(zxid),
    time: timeOf(timeMs),
    session: hex(session),
    cxid,
    operation,
    changes: changes.map(({ data, ...change }) => ({
      operation: change.operation,
      path: change.path ?? null,
      ...(change.version === undefined ? {} : { version: change.version }),
      ...(change.error === undefined ? {} : { error: change.error }),
      ...(data === undefined ? {} : { bytes: data.length }),
      ...(data === undefined || !withData ? {} : dataJson(data)),
    })),
    digest: digest === undefined ? null : hex(digest),
    file,
    position,
    bytes,
  }
}

export function timeOf(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString()
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data).toString()
}
