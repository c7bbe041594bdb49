/** The messages between servers, as text. */
import {
  errorName,
  operationName,
  operations,
  packetName,
  Reader,
  readLearnerInfo,
  type PacketName,
  type QuorumPacket,
} from '@zabra/protocol'
import { decodeTxn } from '../../../src/consensus/zab/decoded-txn.ts'
import { counterOf, epochOf, epochStart } from '../../../src/storage/zxid.ts'
import { readConfig } from '../../../src/consensus/zab/role-change.ts'

/** The name of a session in a transcript. */
export type SessionNames = (sessionId: bigint) => string

/** `epoch:counter`. */
export function zxidText(zxid: bigint): string {
  return `${epochOf(zxid)}:${counterOf(zxid)}`
}

export function zxidOf(text: string): bigint {
  const [epoch, counter] = text.split(':').map(BigInt)
  return epochStart(epoch!) + counter!
}

/** Its type, its zxid where it has one, and what its data says. */
export function describePacket(packet: QuorumPacket, names: SessionNames): string {
  const { type, zxid, data } = packet
  const name = packetName(type)
  if (name === undefined) throw new Error(`a packet of unknown type ${type}`)
  const words = [name.toUpperCase()]
  if (zxid !== -1n) words.push(zxidText(zxid))
  if (data !== null) words.push(describeData(name, zxid, data, names))
  return words.join(' ')
}

function describeData(
  name: PacketName,
  zxid: bigint,
  data: Uint8Array,
  names: SessionNames,
): string {
  const reader = new Reader(data)
  switch (name) {
    case 'followerInfo':
    case 'observerInfo': {
      const { serverId, protocolVersion, configVersion } = readLearnerInfo(data)!
      const protocol = protocolVersion.toString(16)
      return `server ${serverId} protocol ${protocol} config ${configVersion.toString(16)}`
    }
    case 'leaderInfo':
      return `protocol ${reader.int().toString(16)}`
    case 'ackEpoch':
      return `current epoch ${reader.int()}`
    case 'newLeader':
      return `config ${readConfig(data)!.version.toString(16)}`
    case 'commitAndActivate':
      return `leader ${reader.long()}`
    case 'informAndActivate': {
      const leader = reader.long()
      return `leader ${leader} ${describeTxn(zxid, data.subarray(8), names)}`
    }
    case 'proposal':
    case 'inform':
      return describeTxn(zxid, data, names)
    case 'request':
      return describeRequest(reader, names)
    case 'revalidate':
      return describeRevalidation(reader, names)
    case 'ping':
      return describeTouched(reader, names)
    default:
      throw new Error(`nobody has said yet how to read the data of ${name}`)
  }
}

function describeTxn(zxid: bigint, payload: Uint8Array, names: SessionNames): string {
  const { header, txn } = decodeTxn(zxid, payload)
  const words = [operationName(header.type) ?? String(header.type)]
  if (header.clientId !== 0n) words.unshift(names(header.clientId))
  if ('path' in txn.body) words.push(txn.body.path)
  if ('timeOut' in txn.body) words.push(`${txn.body.timeOut} ms`)
  if ('err' in txn.body) words.push(errorName(txn.body.err) ?? String(txn.body.err))
  return words.join(' ')
}

function describeRequest(reader: Reader, names: SessionNames): string {
  const session = names(reader.long())
  reader.int()
  const name = operationName(reader.int())!
  const words = [session, name]
  if (name === 'createSession') words.push(`${reader.int()} ms`)
  else {
    const request: unknown = operations[name].request.read(reader)
    const { path } = request as { path?: string }
    if (path !== undefined) words.push(path)
  }
  return words.join(' ')
}

/** The question tells for how long, the answer whether. */
function describeRevalidation(reader: Reader, names: SessionNames): string {
  const session = names(reader.long())
  if (reader.remaining === 4) return `${session} ${reader.int()} ms`
  return `${session} ${reader.bool() ? 'goes on' : 'is unknown'}`
}

/** Only the answer to a sign of life has data. */
function describeTouched(reader: Reader, names: SessionNames): string {
  const sessions: string[] = []
  while (reader.remaining > 0) sessions.push(`${names(reader.long())} ${reader.int()} ms`)
  return sessions.length === 0 ? 'touched nobody' : `touched ${sessions.join(', ')}`
}
