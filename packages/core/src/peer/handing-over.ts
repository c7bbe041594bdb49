import { Deferred, within } from '../base/deferred.ts'
import type { ZabTrace } from '../consensus/zab/options.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { Host } from '../ports.ts'
import type { Leading } from './leading.ts'

export interface HandingOverParts {
  readonly host: Host
  readonly zabTrace: ZabTrace
  /** The role of this server, if it leads. */
  readonly leading: () => Leading | undefined
}

export type HandOverOutcome = { readonly leader: ServerId } | { readonly problem: string }

/** Passes the leadership to a follower that is up to date. */
export class HandingOver {
  private readonly parts: HandingOverParts
  private readonly limitMs: number
  /** Whom to vote for in the next election. */
  private successor: ServerId | undefined
  /** Resolves when this server serves again. */
  private served: Deferred<ServerId> | undefined

  /** `limitMs`: how long it may take until this server serves again. */
  constructor(parts: HandingOverParts, limitMs: number) {
    this.parts = parts
    this.limitMs = limitMs
  }

  /** Resolves when this server serves again, with its leader, or with the reason if it does not. */
  async handOver(): Promise<HandOverOutcome> {
    const { host, zabTrace } = this.parts
    const leading = this.parts.leading()
    if (leading?.leader.isEstablished !== true) return { problem: 'this server does not lead' }
    if (leading.leader.successor(0n) === undefined) return { problem: 'no follower is up to date' }
    const reason = 'another server is to lead'
    zabTrace({ type: 'handingOver', reason })
    await leading.finish()
    this.successor = leading.leader.successor()
    const served = (this.served = new Deferred<ServerId>())
    leading.end(new Error(reason))
    try {
      return { leader: await within(host, this.limitMs, 'a leader', served.promise) }
    } catch (error) {
      return { problem: (error as Error).message }
    }
  }

  /** Whom to vote for in the election that starts now; undefined to vote for this server itself. */
  takeSuccessor(): ServerId | undefined {
    const { successor } = this
    this.successor = undefined
    return successor
  }

  serves(leader: ServerId): void {
    this.served?.resolve(leader)
  }

  stop(reason: Error): void {
    this.served?.reject(reason)
  }
}
