import { MalformedError } from '@zabra/protocol'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { ZabOptions } from './options.ts'

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
