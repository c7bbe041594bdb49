import { Deferred } from '../../base/deferred.ts'
import type { Decision } from '../../consensus/election/election.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** A server that has no leader for this long, or for one tick if that is longer, may serve reads. */
const readOnlyAfterMsMin = 2000

/** Takes part in an election until it is decided. */
export class Looking implements Role<Decision> {
  readonly name = 'looking'
  readonly state = 'looking'
  private readonly parts: RoleParts
  private readonly decision = new Deferred<Decision>()
  private readonly sinceMs: number

  constructor(parts: RoleParts) {
    this.parts = parts
    this.sinceMs = parts.clock.nowMs
  }

  async run(): Promise<Decision> {
    const { zabTrace, electing, service, stopSignal } = this.parts
    zabTrace({ type: 'looking' })
    this.start()
    electing.pump()
    try {
      const decision = await stopSignal.orStopped(this.decision.promise)
      zabTrace({ type: 'elected', leader: decision.leader })
      return decision
    } finally {
      service.stop()
    }
  }

  decided(decision: Decision): void {
    this.decision.resolve(decision)
  }

  restartElection(): boolean {
    this.start()
    return true
  }

  /** Read-only clients are served what this server knew before it lost its leader. */
  tick(): void {
    const { options, service, clock, zabTrace } = this.parts
    if (options.readOnlyMode !== true || service.isServing) return
    const afterMs = Math.max(readOnlyAfterMsMin, options.tickMs)
    if (clock.nowMs - this.sinceMs < afterMs) return
    zabTrace({ type: 'readOnly', afterMs })
    service.serveReads()
  }

  private start(): void {
    const { db, epochs, standing, electing, handingOver } = this.parts
    // As in Apache, -1 means that this server has no say.
    const zxid = standing.lacksData ? -1n : db.lastZxid
    electing.start({ zxid, peerEpoch: epochs.current }, handingOver.takeSuccessor())
  }
}
