import {
  codes,
  digestVersion,
  MalformedError,
  Reader,
  readTxnBody,
  txnDigestBytes,
  TxnHeader,
  type CodecMemory,
  type Txn,
} from '@zabra/protocol'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'

/** A transaction with what its bytes say. */
export interface DecodedTxn extends LoggedTxn {
  readonly header: TxnHeader
  readonly txn: Txn
  /** The digest of the tree afterwards, if its author recorded it. */
  readonly digest: bigint | undefined
}

/** A check outside a multi, which some old leaders propose: it changes nothing. */
const noChange: Txn = { type: codes.error, body: { err: 0 } }

/** Throws a MalformedError for what no server could apply: such a thing must not reach a log. */
export function decodeTxn(zxid: bigint, payload: Uint8Array, memory?: CodecMemory): DecodedTxn {
  const reader = new Reader(payload)
  reader.memory = memory
  const header = TxnHeader.read(reader)
  if (header.zxid !== zxid) {
    throw new MalformedError(`transaction ${header.zxid.toString(16)} as ${zxid.toString(16)}`)
  }
  if (header.type === codes.check)
    return { zxid, payload, header, txn: noChange, digest: undefined }
  const txn = readTxnBody(reader, header.type)
  const hasDigest = reader.remaining >= txnDigestBytes && reader.int() === digestVersion
  return { zxid, payload, header, txn, digest: hasDigest ? reader.long() : undefined }
}
