import { AssertionError } from '../../base/assert.ts'
import { OlderEpochError } from '../../consensus/zab/learner.ts'
import { RoleChange } from '../../consensus/zab/role-change.ts'
import type { ServerId } from '../../membership/quorum.ts'
import { faultCode } from '../../ports.ts'
import { RecoveryError } from '../../storage/recovery/recovery-error.ts'
import { NoRoomError } from '../local-history.ts'

/** How a role ended. What follows depends on it. */
export interface Ending {
  /** Clients were served in this role. */
  readonly hasServed: boolean
  /** The next leader, if a change of configuration has named one. */
  readonly leader: ServerId | undefined
  /** The disk had no room for data this server must store. */
  readonly lacksRoom: boolean
  /** The leader's epoch was older than one that this server had promised. */
  readonly metOlderEpoch: boolean
}

export function endingOf(error: unknown, hasServed: boolean): Ending {
  return {
    hasServed,
    leader: error instanceof RoleChange ? error.leader : undefined,
    lacksRoom: error instanceof NoRoomError || faultCode(error) === 'ENOSPC',
    metOlderEpoch: error instanceof OlderEpochError,
  }
}

/** Whether the server cannot go on: the disk fails, or there is a bug. */
export function isFatal(error: unknown): boolean {
  if (error instanceof AssertionError || error instanceof RecoveryError) return true
  const code = faultCode(error)
  return code !== undefined && code !== 'ENOSPC'
}
