/** The content of the log: transactions of one operation, or of several in a multi. */
import { type Codec, type TypeOf } from './codec.ts'
import { MalformedError } from './malformed.ts'
import { Reader } from './reader.ts'
import { type Writer } from './writer.ts'
import { digestVersion, txnDigestBytes, type CloseSessionTxn } from './records/transaction.ts'
import { singleWrites } from './table.ts'

type SingleWrites = typeof singleWrites

/** A transaction that is not a multi: the number of its operation, and its body. */
export type SimpleTxn = {
  [Name in keyof SingleWrites]: {
    type: SingleWrites[Name]['code']
    body: TypeOf<SingleWrites[Name]['txn']>
  }
}[keyof SingleWrites]

export interface MultiTxn {
  txns: SimpleTxn[]
}
export type Txn = SimpleTxn | { type: typeof multiType; body: MultiTxn }

const multiType = 14
const { closeSession } = singleWrites

/** Codecs of bodies by the low byte of the number: an array is faster than an object. */
const bodies: (Codec<SimpleTxn['body']> | undefined)[] = Array.from({ length: 256 })
const simpleTypes = new Set<number>()
for (const { code, txn } of Object.values(singleWrites)) {
  bodies[code & 0xff] = txn as Codec<SimpleTxn['body']>
  simpleTypes.add(code)
}

const isSimple = (type: number): type is SimpleTxn['type'] => simpleTypes.has(type)

/** The parts of a multi: each is the body of a transaction of its type, after a length. */
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
      const part = new Reader(bytes)
      part.memory = reader.memory
      txns.push({ type, body: bodies[type & 0xff]!.read(part) } as SimpleTxn)
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
  bodies[txn.type & 0xff]!.write(writer, txn.body)
}

/** A body of the type that the header gives. */
export function readTxnBody(reader: Reader, type: number): Txn {
  if (type === multiType) return { type, body: MultiTxn.read(reader) }
  if (!isSimple(type)) throw new MalformedError(`a transaction of unknown type ${type}`)
  if (type === closeSession.code) return { type, body: readCloseSession(reader) }
  return { type, body: bodies[type & 0xff]!.read(reader) } as Txn
}

/**
 * The paths are not listed before 3.6, or if that is switched off: undefined then. Two empty paths
 * would look like a digest, so every path must be one.
 */
function readCloseSession(reader: Reader): CloseSessionTxn {
  const left = reader.remaining
  const isBare = left === 0 || (left === txnDigestBytes && startsWithDigest(reader))
  if (isBare) return { paths2Delete: undefined }
  const txn = closeSession.txn.read(reader)
  if (txn.paths2Delete?.some((path) => !path.startsWith('/')) === true) {
    throw new MalformedError('the end of a session lists a path that does not begin with /')
  }
  return txn
}

function startsWithDigest(reader: Reader): boolean {
  const at = reader.position
  const version = reader.int()
  reader.position = at
  return version === digestVersion
}
