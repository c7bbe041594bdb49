import type { Decision } from '../../consensus/election/election.ts'
import type { ReachedMaster } from '../dialler.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** Connects to the server that is to bring this one up: the leader, or a follower for an observer. */
export class Dialing implements Role<ReachedMaster> {
  readonly name = 'dialing'
  readonly state: Decision['state']
  private readonly parts: RoleParts
  private readonly decision: Decision

  constructor(parts: RoleParts, decision: Decision) {
    this.parts = parts
    this.decision = decision
    this.state = decision.state
  }

  async run(): Promise<ReachedMaster> {
    const { dialler, standing, stopSignal } = this.parts
    const mustTellLeader = standing.lastEnding?.metOlderEpoch === true
    const reaching = dialler.reachMaster(this.decision, mustTellLeader)
    try {
      return await stopSignal.orStopped(reaching)
    } catch (error) {
      reaching.then((late) => late.link.close()).catch(() => {})
      throw error
    }
  }
}
