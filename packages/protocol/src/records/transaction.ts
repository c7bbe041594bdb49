/** What is logged and replicated: results, never intentions, so that replaying is harmless. */
import {
  bool,
  buffer,
  int,
  long,
  MalformedError,
  Reader,
  record,
  ustring,
  vector,
  type Codec,
  type TypeOf,
  type Writer,
} from '../jute.ts'
import { NullableAclList } from './common.ts'

export const TxnHeader = record({ clientId: long, cxid: int, zxid: long, time: long, type: int })
export interface TxnHeader extends TypeOf<typeof TxnHeader> {}
export const txnHeaderBytes = 32

/** The digest of the whole tree after this transaction; absent from old and from error records. */
export const TxnDigest = record({ version: int, treeDigest: long })
export interface TxnDigest extends TypeOf<typeof TxnDigest> {}
export const txnDigestBytes = 12
export const digestVersion = 2

const createTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  ephemeral: bool,
  parentCVersion: int,
})
export interface CreateTxn extends TypeOf<typeof createTxn> {}

/** Before 3.4 the parent's counter was not recorded: -1 then, which means "one more". */
export const CreateTxn: Codec<CreateTxn> = {
  bytesMin: createTxn.bytesMin - 4,
  read(reader) {
    const path = reader.ustring()
    const data = reader.buffer()
    const acl = NullableAclList.read(reader)
    const ephemeral = reader.bool()
    const parentCVersion = reader.remaining > 0 ? reader.int() : -1
    return { path, data, acl, ephemeral, parentCVersion }
  },
  write: createTxn.write,
}

export const CreateContainerTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  parentCVersion: int,
})
export interface CreateContainerTxn extends TypeOf<typeof CreateContainerTxn> {}

export const CreateTtlTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  parentCVersion: int,
  ttl: long,
})
export interface CreateTtlTxn extends TypeOf<typeof CreateTtlTxn> {}

export const DeleteTxn = record({ path: ustring })
export interface DeleteTxn extends TypeOf<typeof DeleteTxn> {}

/** `version` is the new, absolute one. */
export const SetDataTxn = record({ path: ustring, data: buffer, version: int })
export interface SetDataTxn extends TypeOf<typeof SetDataTxn> {}

export const SetAclTxn = record({ path: ustring, acl: NullableAclList, version: int })
export interface SetAclTxn extends TypeOf<typeof SetAclTxn> {}

export const CheckVersionTxn = record({ path: ustring, version: int })
export interface CheckVersionTxn extends TypeOf<typeof CheckVersionTxn> {}

export const CreateSessionTxn = record({ timeOut: int })
export interface CreateSessionTxn extends TypeOf<typeof CreateSessionTxn> {}

export interface CloseSessionTxn {
  /** Undefined: whatever the session owns. */
  paths2Delete: string[] | undefined
}
const pathList = vector(ustring)
export const CloseSessionTxn: Codec<CloseSessionTxn> = {
  bytesMin: 0,
  read: (reader) => ({ paths2Delete: pathList.read(reader) }),
  write(writer, { paths2Delete }) {
    if (paths2Delete !== undefined) pathList.write(writer, paths2Delete)
  },
}

export const ErrorTxn = record({ err: int })
export interface ErrorTxn extends TypeOf<typeof ErrorTxn> {}

/** The bodies by the number of their operation. */
const txnBodies = {
  [-11]: CloseSessionTxn,
  [-10]: CreateSessionTxn,
  [-1]: ErrorTxn,
  1: CreateTxn,
  2: DeleteTxn,
  5: SetDataTxn,
  7: SetAclTxn,
  13: CheckVersionTxn,
  15: CreateTxn,
  16: SetDataTxn,
  19: CreateContainerTxn,
  20: DeleteTxn,
  21: CreateTtlTxn,
} as const

/** A transaction that is not a multi: its number and its body. */
export type SimpleTxn = {
  [Type in keyof typeof txnBodies]: { type: Type; body: TypeOf<(typeof txnBodies)[Type]> }
}[keyof typeof txnBodies]
export interface MultiTxn {
  txns: SimpleTxn[]
}
export type Txn = SimpleTxn | { type: typeof multiType; body: MultiTxn }
const multiType = 14

/** The same by the low byte of the number: a list is looked up faster than an object. */
const byLowByte: Codec<SimpleTxn['body']>[] = []
for (let type = -128; type < 128; type++) {
  byLowByte[type & 0xff] = (txnBodies as Record<number, Codec<SimpleTxn['body']>>)[type]!
}

const isSimple = (type: number): type is SimpleTxn['type'] => type in txnBodies

/** The parts of a multi, each the body of a transaction of its type behind a length. */
export const MultiTxn: Codec<MultiTxn> = {
  bytesMin: 4,
  read(reader) {
    const count = reader.count(8)
    const txns: SimpleTxn[] = []
    for (let i = 0; i < count; i++) {
      const type = reader.int()
      if (!isSimple(type)) throw new MalformedError(`a part of type ${type} in a multi`)
      const bytes = reader.buffer()
      if (bytes === null) throw new MalformedError('a part without a body in a multi')
      txns.push({ type, body: txnBodies[type].read(new Reader(bytes)) } as SimpleTxn)
    }
    return { txns }
  },
  write(writer, { txns }) {
    writer.int(txns.length)
    for (const txn of txns) {
      writer.int(txn.type)
      const lengthAt = writer.position
      writer.int(0)
      writeTxnBody(writer, txn)
      writer.intAt(lengthAt, writer.position - lengthAt - 4)
    }
  },
}

export function writeTxnBody(writer: Writer, txn: Txn): void {
  if (txn.type === multiType) {
    MultiTxn.write(writer, txn.body)
    return
  }
  byLowByte[txn.type & 0xff]!.write(writer, txn.body)
}

/** A body of the type that the header named. */
export function readTxnBody(reader: Reader, type: number): Txn {
  if (type === multiType) return { type, body: MultiTxn.read(reader) }
  if (!isSimple(type)) throw new MalformedError(`a transaction of unknown type ${type}`)
  if (type === -11) return { type, body: readCloseSession(reader) }
  return { type, body: txnBodies[type].read(reader) } as Txn
}

/** Before 3.6, and where switched off since, the paths were not listed: undefined then. */
function readCloseSession(reader: Reader): CloseSessionTxn {
  const left = reader.remaining
  const isBare = left === 0 || (left === txnDigestBytes && startsWithDigest(reader))
  return isBare ? { paths2Delete: undefined } : CloseSessionTxn.read(reader)
}

function startsWithDigest(reader: Reader): boolean {
  const at = reader.position
  const version = reader.int()
  reader.position = at
  return version === digestVersion
}
