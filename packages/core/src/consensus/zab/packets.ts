/** Packets of the quorum port, and their errors. */
import {
  MalformedError,
  packetName,
  packetTypes,
  type PacketName,
  type QuorumPacket,
} from '@zabra/protocol'

/** The other side has broken the protocol. */
export class ProtocolError extends Error {
  override readonly name: string = 'ProtocolError'
}

/** The connection to another server is gone. */
export class LinkLostError extends Error {
  override readonly name = 'LinkLostError'
}

/** The packet's name, which must be one of these; otherwise the other side breaks the protocol. */
export function expectPacket<Name extends PacketName>(
  packet: QuorumPacket,
  ...names: readonly Name[]
): Name {
  const name = names.find((wanted) => packetTypes[wanted] === packet.type)
  if (name === undefined) {
    const got = packetName(packet.type) ?? `unknown packet ${packet.type}`
    throw new MalformedError(`${got} came, expected ${names.join(' or ')}`)
  }
  return name
}

/** Whether an error is the other side's fault: it costs the connection, and nothing else. */
export function isPeerFault(error: unknown): error is Error {
  return error instanceof MalformedError || error instanceof ProtocolError
}
