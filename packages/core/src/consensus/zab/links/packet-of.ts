import { packetTypes, type Id, type PacketName, type QuorumPacket } from '@zabra/protocol'

/** A packet by its name. */
export function packetOf(
  name: PacketName,
  zxid: bigint,
  data: Uint8Array | null = null,
  authinfo: Id[] | null = null,
): QuorumPacket {
  return { type: packetTypes[name], zxid, data, authinfo }
}
