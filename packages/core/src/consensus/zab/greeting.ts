/** The first packets between a learner and its leader or observer master. */
import {
  MalformedError,
  packetOf,
  quorumProtocolVersion,
  Reader,
  readLearnerInfo,
  Writer,
  type LearnerInfo,
  type QuorumPacket,
  type TypeOf,
} from '@zabra/protocol'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { epochStart } from '../../storage/zxid.ts'
import type { ZabOptions } from './options.ts'

/** The introduction of a learner, in FOLLOWERINFO or OBSERVERINFO. */
export function readIntroduction(
  { data }: QuorumPacket,
  self: ServerId,
): TypeOf<typeof LearnerInfo> {
  const info = readLearnerInfo(data)
  if (info === undefined) throw new MalformedError('a learner without an identity')
  const { serverId } = info
  if (serverId === self) throw new MalformedError(`a server with our own number, ${serverId}`)
  return info
}

/**
 * A learner is sent the whole database, so only members may be one. Where members can be changed, a
 * server has to follow the leader before it becomes a member.
 */
export function refuseStranger(
  sid: ServerId,
  configs: MembershipState,
  { admitsStrangers = configs.isEnabled }: ZabOptions,
): void {
  if (admitsStrangers || configs.isMember(sid)) return
  throw new MalformedError(`server ${sid} is no member, and quorum.admitStrangers is off`)
}

/** LEADERINFO: asks for the promise of an epoch. */
export function epochQuestion(epoch: bigint): QuorumPacket {
  const version = new Writer(4)
  version.int(quorumProtocolVersion)
  return packetOf('leaderInfo', epochStart(epoch), version.written())
}

/**
 * The history of a server that promises our epoch, by its ACKEPOCH; undefined where it does not say,
 * and so does not count. One that asks for everything says what it has behind the rest.
 */
export function historyIn({
  data,
  zxid,
}: QuorumPacket): { readonly currentEpoch: bigint; readonly lastZxid: bigint } | undefined {
  if (data === null) throw new MalformedError('an acknowledgement without an epoch')
  const reader = new Reader(data)
  const epoch = reader.int()
  if (epoch >= 0) return zxid < 0n ? undefined : { currentEpoch: BigInt(epoch), lastZxid: zxid }
  if (zxid >= 0n || reader.remaining < 12) return undefined
  return { currentEpoch: BigInt(reader.int()), lastZxid: reader.long() }
}
