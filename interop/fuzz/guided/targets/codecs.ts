import {
  encode,
  MalformedError,
  operations,
  packetTypes,
  PacketReader,
  Reader,
  readInitialMessage,
  readLearnerInfo,
  readTxnBody,
  TxnHeader,
  Writer,
  writeTxnBody,
  type Codec,
  type OperationName,
} from '@zabra/protocol'
import { validRequest } from '../../../../packages/server/test/support/fuzz/frames.ts'
import { Random } from '../../../../packages/server/test/support/random.ts'
import { mayRefuse, type Target } from '../target.ts'

const names = Object.keys(operations) as OperationName[]
const headerBytes = 12

/**
 * Requests: what is read must be written as it is read again. The first byte selects the operation.
 */
export const requests: Target = {
  name: 'requests',
  seeds() {
    const random = new Random(2)
    return Array.from({ length: 100 }, () => {
      const frame = validRequest(random)
      const code = new DataView(frame.buffer, frame.byteOffset).getInt32(8)
      const at = names.findIndex((name) => operations[name].code === code)
      return new Uint8Array(Buffer.concat([Uint8Array.of(at), frame.subarray(headerBytes)]))
    })
  },
  run(input) {
    const name = names[(input[0] ?? 0) % names.length]!
    const codec = operations[name].request as Codec<unknown> | undefined
    if (codec === undefined) return
    mayRefuse([MalformedError], () => {
      const value = codec.read(new Reader(input, 1, input.length))
      const bytes = encode(codec, value)
      const again = encode(codec, codec.read(new Reader(bytes)))
      if (Buffer.compare(bytes, again) !== 0) throw new Error(`${name} is written in two ways`)
    })
  },
}

/** Transactions of a log, a snapshot or a leader. */
export const transactions: Target = {
  name: 'transactions',
  seeds() {
    const header = { clientId: 1n, cxid: 2, zxid: 3n, time: 4n }
    const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
    const data = Uint8Array.of(1, 2, 3)
    const write = (type: number, body: unknown): Uint8Array => {
      const writer = new Writer(256)
      TxnHeader.write(writer, { ...header, type })
      writeTxnBody(writer, { type, body } as Parameters<typeof writeTxnBody>[1])
      return new Uint8Array(writer.written())
    }
    return [
      write(-10, { timeOut: 4000 }),
      write(1, { path: '/a', data, acl, ephemeral: false, parentCVersion: 1 }),
      write(2, { path: '/a' }),
      write(5, { path: '/a', data, version: 1 }),
      write(7, { path: '/a', acl, version: 1 }),
    ]
  },
  run(input) {
    mayRefuse([MalformedError], () => {
      const reader = new Reader(input)
      const header = TxnHeader.read(reader)
      const txn = readTxnBody(reader, header.type)
      const writer = new Writer(256)
      writeTxnBody(writer, txn)
      const bytes = new Uint8Array(writer.written())
      const again = new Writer(256)
      writeTxnBody(again, readTxnBody(new Reader(bytes), header.type))
      if (Buffer.compare(bytes, again.written()) !== 0) {
        throw new Error(`a transaction of type ${header.type} is written in two ways`)
      }
    })
  },
}

/** The streams of the quorum and the election port, byte by byte and all at once. */
export const packets: Target = {
  name: 'packets',
  seeds() {
    return Object.values(packetTypes).map((type) => {
      const writer = new Writer(64)
      writer.int(type)
      writer.long(5n)
      writer.buffer(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
      writer.int(1)
      writer.buffer(Buffer.from('ip'))
      writer.buffer(Buffer.from('1'))
      return new Uint8Array(writer.written())
    })
  },
  run(input) {
    const read = (pieceBytes: number): string => {
      const reader = new PacketReader(100_000)
      const seen: unknown[] = []
      try {
        for (let at = 0; at < input.length; at += pieceBytes) {
          reader.push(input.subarray(at, at + pieceBytes))
          for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
            const { type, zxid, data, authinfo } = packet
            seen.push([type, String(zxid), data && Buffer.from(data).toString('hex'), authinfo])
            readLearnerInfo(data)
          }
        }
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
        seen.push('malformed')
      }
      return JSON.stringify(seen)
    }
    if (read(input.length || 1) !== read(7)) throw new Error('the pieces of a stream matter')
    mayRefuse([MalformedError], () => void readInitialMessage(input))
  },
}
