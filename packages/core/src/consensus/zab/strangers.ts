import { MalformedError } from '@zabra/protocol'
import type { MembershipState } from '../../membership/membership-state.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { ZabOptions } from './options.ts'

/**
 * Whoever is brought up is sent the whole database. Where members can be changed, a server must be
 * able to join before it is one; otherwise only members may.
 */
export function refuseStranger(
  sid: ServerId,
  configs: MembershipState,
  { admitsStrangers = configs.isEnabled }: ZabOptions,
): void {
  if (admitsStrangers || configs.isMember(sid)) return
  throw new MalformedError(`server ${sid} is no member, and quorum.admitStrangers is off`)
}
