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
  /** Those who may take observers, the leader among them. */
  readonly voters: () => ReadonlySet<ServerId>
  readonly isStopped: () => boolean
}

/** Finds who is to bring this server up, and connects to it. */
export class Dialler {
  private readonly parts: DiallerParts
  private readonly options: EnsembleOptions

  constructor(parts: DiallerParts, options: EnsembleOptions) {
    this.parts = parts
    this.options = options
  }

  /**
   * Who has a vote goes to the leader. Observers go to any of the followers where those take them,
   * so that the leader has less to do, and to the leader where none can be reached, or where it must
   * hear something.
   */
  async reachMaster(
    { leader, state }: Decision,
    mustTellLeader: boolean,
  ): Promise<{ link: PacketLink; master: ServerId }> {
    const followers = [...this.parts.voters()].filter((id) => id !== leader)
    const mayFollow =
      state === 'observing' && this.options.observerMaster !== undefined && !mustTellLeader
    const found = mayFollow ? await this.reachAny(followers) : undefined
    return found ?? { link: await this.reachLeader(leader), master: leader }
  }

  private async reachAny(
    followers: readonly ServerId[],
  ): Promise<{ link: PacketLink; master: ServerId } | undefined> {
    if (followers.length === 0) return undefined
    const { host, isStopped } = this.parts
    let next = Math.floor(host.random() * followers.length)
    // They may not be up to date with the leader yet, and then they take nobody.
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

  private async dial(server: ServerId, door: PeerPort): Promise<PacketLink> {
    const { host, network, nowMs } = this.parts
    const { tickMs, initLimit, dialLimit = initLimit, rules } = this.options
    const attach = (wire: PeerWire): PacketLink => new PacketLink(wire, nowMs(), rules.txnBytesMax)
    const dialling = network.dial(server, attach, door)
    try {
      return await within(host, tickMs * dialLimit, 'connecting to another server', dialling)
    } catch (error) {
      // Nobody waits any more for a connection that comes about late.
      dialling.then((link) => link.close()).catch(() => {})
      throw error
    }
  }
}
