import type { Decision } from '../consensus/election/election.ts'
import type { Host } from '../ports.ts'
import { within } from '../base/deferred.ts'
import { LinkLostError } from '../consensus/zab/packets.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { PeerPort, EnsembleOptions, PeerNetwork } from './ensemble-parts.ts'
import { dialPauses } from './links/dial-pauses.ts'
import { PacketLink, type PeerWire } from './links/packet-link.ts'

export interface DiallerParts {
  readonly network: PeerNetwork
  readonly host: Host
  readonly nowMs: () => number
  /** The servers that may take observers, including the leader. */
  readonly voters: () => ReadonlySet<ServerId>
  readonly isStopped: () => boolean
}

/** A connection to the server that brings this one up. */
export interface ReachedMaster {
  readonly link: PacketLink
  readonly master: ServerId
}

/** Connects to the server that is to bring this one up. */
export class Dialler {
  private readonly parts: DiallerParts
  private readonly options: EnsembleOptions

  constructor(parts: DiallerParts, options: EnsembleOptions) {
    this.parts = parts
    this.options = options
  }

  /**
   * A voter connects to the leader. An observer connects to any follower that takes observers, which
   * leaves the leader less to do; to the leader if no follower can be reached, or if the leader must
   * learn something.
   */
  async reachMaster({ leader, state }: Decision, mustTellLeader: boolean): Promise<ReachedMaster> {
    const followers = [...this.parts.voters()].filter((id) => id !== leader)
    const mayFollow =
      state === 'observing' && this.options.observerMaster !== undefined && !mustTellLeader
    const found = mayFollow ? await this.reachAny(followers) : undefined
    return found ?? { link: await this.reachLeader(leader), master: leader }
  }

  private async reachAny(followers: readonly ServerId[]): Promise<ReachedMaster | undefined> {
    if (followers.length === 0) return undefined
    const { host, isStopped } = this.parts
    let next = Math.floor(host.random() * followers.length)
    // A follower takes observers only once it is up to date with the leader.
    for (const pauseMs of dialPauses(this.options.dialPauseMs)) {
      const master = followers[next++ % followers.length]!
      const link = await this.dial(master, 'observers').catch(() => undefined)
      if (link !== undefined) return { link, master }
      if (isStopped()) throw new LinkLostError('this server is being stopped')
      await host.delay(pauseMs).done
    }
    return undefined
  }

  private async reachLeader(leader: ServerId): Promise<PacketLink> {
    const { host, isStopped } = this.parts
    const pausesMs = dialPauses(this.options.dialPauseMs)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.dial(leader, 'quorum')
      } catch (error) {
        const pauseMs = pausesMs[attempt]
        if (pauseMs === undefined || isStopped()) {
          throw new LinkLostError(`the leader cannot be reached: ${(error as Error).message}`)
        }
        await host.delay(pauseMs).done
      }
    }
  }

  private async dial(server: ServerId, port: PeerPort): Promise<PacketLink> {
    const { host, network, nowMs } = this.parts
    const { tickMs, initLimit, dialLimit = initLimit, rules } = this.options
    const attach = (wire: PeerWire): PacketLink => new PacketLink(wire, nowMs(), rules.txnBytesMax)
    const dialling = network.dial(server, attach, port)
    try {
      return await within(host, tickMs * dialLimit, 'connecting to another server', dialling)
    } catch (error) {
      // A connection that is established after this has no user.
      dialling.then((link) => link.close()).catch(() => {})
      throw error
    }
  }
}
