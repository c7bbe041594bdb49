import { LogFileReader, type LogEnd } from '@zabra/core'
import {
  digestVersion,
  errorName,
  operationName,
  readTxnBody,
  txnDigestBytes,
  TxnHeader,
  type Reader,
  type Txn,
} from '@zabra/protocol'
import { disk, type FoundFiles } from './files.ts'

/** A change that a transaction makes; a multi makes several. */
export interface LoggedChange {
  readonly operation: string
  readonly path: string | undefined
  readonly data: Uint8Array | undefined
  /** The error that the transaction records. */
  readonly error: string | undefined
  readonly version: number | undefined
}

export interface Transaction {
  readonly file: string
  readonly position: number
  readonly bytes: number
  readonly zxid: bigint
  readonly session: bigint
  readonly cxid: number
  readonly timeMs: number
  /** `multi`, or the operation of its only change. */
  readonly operation: string
  readonly changes: readonly LoggedChange[]
  readonly digest: bigint | undefined
}

export interface LogFileEnd {
  readonly file: string
  readonly end: LogEnd
  readonly bytes: number
}

/** The transactions of logs in order; `onEnd` is called for each file behind its last one. */
export async function* transactionsOf(
  { directory, files }: FoundFiles,
  signal: AbortSignal,
  onEnd: (end: LogFileEnd) => void = () => {},
): AsyncGenerator<Transaction, void, undefined> {
  for (const { name } of files) {
    const log = await LogFileReader.open(disk, `${directory}/${name}`)
    try {
      for await (const records of log) {
        signal.throwIfAborted()
        while (records.next()) yield decodeTransaction(name, records.position, records.reader)
      }
      onEnd({ file: name, end: log.end, bytes: log.bytes })
    } finally {
      await log.close()
    }
  }
}

/** A record of a log; what it holds besides `data` outlives the bytes it is read from. */
export function decodeTransaction(file: string, position: number, reader: Reader): Transaction {
  const bytes = reader.remaining
  const { clientId: session, cxid, zxid, time, type } = TxnHeader.read(reader)
  const common = { file, position, bytes, zxid, session, cxid, timeMs: Number(time) }
  const operation = operationName(type) ?? `operation ${type}`
  let txn: Txn
  try {
    txn = readTxnBody(reader, type)
  } catch {
    // Of another release, which knows more operations.
    return { ...common, operation, changes: [], digest: undefined }
  }
  const hasDigest = reader.remaining >= txnDigestBytes && reader.int() === digestVersion
  return {
    ...common,
    operation,
    changes: changesOf(txn),
    digest: hasDigest ? BigInt.asUintN(64, reader.long()) : undefined,
  }
}

const noDetails = { path: undefined, data: undefined, error: undefined, version: undefined }

function changesOf(txn: Txn): LoggedChange[] {
  if ('txns' in txn.body) return txn.body.txns.flatMap(changesOf)
  const operation = operationName(txn.type) ?? `operation ${txn.type}`
  const { body } = txn
  if ('err' in body)
    return [{ ...noDetails, operation, error: errorName(body.err) ?? String(body.err) }]
  if ('paths2Delete' in body) {
    const deleted = (body.paths2Delete ?? []).map((path) => ({
      ...noDetails,
      operation: 'delete',
      path,
    }))
    return [{ ...noDetails, operation }, ...deleted]
  }
  if (!('path' in body)) return [{ ...noDetails, operation }]
  return [
    {
      operation,
      path: body.path,
      data: 'data' in body ? (body.data?.slice() ?? undefined) : undefined,
      error: undefined,
      version: 'version' in body ? body.version : undefined,
    },
  ]
}
