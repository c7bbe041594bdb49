/** Messages between servers on the quorum port. */
import { buffer, encode, int, long, nullableVector, type TypeOf } from '../codec.ts'
import { Reader } from '../reader.ts'
import { record } from '../record.ts'
import { Id } from './common.ts'

/** The packets of the quorum port. Numbers once used on the wire stay reserved. */
export const packetTypes = {
  request: 1,
  proposal: 2,
  ack: 3,
  commit: 4,
  ping: 5,
  revalidate: 6,
  sync: 7,
  inform: 8,
  commitAndActivate: 9,
  newLeader: 10,
  followerInfo: 11,
  upToDate: 12,
  diff: 13,
  trunc: 14,
  snap: 15,
  observerInfo: 16,
  leaderInfo: 17,
  ackEpoch: 18,
  informAndActivate: 19,
  /** Only zabra's: a follower computed another digest. Apache logs and ignores unknown types. */
  treeDiffers: 1001,
} as const

export type PacketName = keyof typeof packetTypes

const packetNames = new Map<number, PacketName>(
  Object.entries(packetTypes).map(([name, type]) => [type, name as PacketName]),
)

/** The name of a packet type; undefined if this table does not have it. */
export function packetName(type: number): PacketName | undefined {
  return packetNames.get(type)
}

/** One packet; the meaning of `zxid` and `data` depends on the type. */
export const QuorumPacket = record({
  type: int,
  zxid: long,
  data: buffer,
  authinfo: nullableVector(Id),
})
export interface QuorumPacket extends TypeOf<typeof QuorumPacket> {}

/** A packet by its name. */
export function packetOf(
  name: PacketName,
  zxid: bigint,
  data: Uint8Array | null = null,
  authinfo: Id[] | null = null,
): QuorumPacket {
  return { type: packetTypes[name], zxid, data, authinfo }
}

/** A packet as bytes of its own. */
export function encodePacket(...packet: Parameters<typeof packetOf>): Uint8Array {
  return encode(QuorumPacket, packetOf(...packet))
}

/** How a learner introduces itself. */
export const LearnerInfo = record({ serverId: long, protocolVersion: int, configVersion: long })
export interface LearnerInfo extends TypeOf<typeof LearnerInfo> {}

/** The protocol version in LearnerInfo and in LEADERINFO. */
export const quorumProtocolVersion = 0x10000

/**
 * Reads an introduction by its length: releases before 3.5 send 12 bytes, older ones only the 8 of
 * the server id. Undefined if it is shorter; the leader then makes up an id.
 */
export function readLearnerInfo(data: Uint8Array | null): LearnerInfo | undefined {
  if (data === null || data.length < 8) return undefined
  const reader = new Reader(data)
  return {
    serverId: reader.long(),
    protocolVersion: data.length >= 12 ? reader.int() : 1,
    configVersion: data.length >= 20 ? reader.long() : 0n,
  }
}

/** One step of authentication, before anything else, on the election and the quorum port. */
export const QuorumAuthPacket = record({ magic: long, status: int, token: buffer })
export interface QuorumAuthPacket extends TypeOf<typeof QuorumAuthPacket> {}

/** The first bytes of a QuorumAuthPacket, and of nothing else. */
export const quorumAuthMagic = 0x5f2435013501edccn
export const quorumAuthStatuses = { inProgress: 0, success: 1, error: -1 } as const
