import { encodeNotification, readNotification } from '@zabra/protocol'
import { Election, type Decision, type ElectionConfig } from '../consensus/election/election.ts'
import { Links } from '../consensus/election/links.ts'
import type { Membership } from '../membership/membership.ts'
import type { ServerId } from '../membership/quorum.ts'
import type { EnsembleOptions, PeerNetwork } from './ensemble-parts.ts'

export interface ElectingParts {
  readonly network: PeerNetwork
  readonly nowMs: () => number
  /**
   * Another server knows of a configuration that was committed, or proposed, without this one. True
   * if the election was restarted with other members.
   */
  readonly adoptConfig: (config: Membership) => boolean
  readonly adoptProposedConfig: (config: Membership) => boolean
  readonly decided: (decision: Decision) => void
  /** This server was elected, and too many voters want another leader for a quorum to form. */
  readonly deserted: () => void
  /** A connection was closed because too many have not introduced themselves. */
  readonly crowded: () => void
}

/**
 * Drives the machines `Election` and `Links`: passes messages between them and the network. Both
 * live as long as the server, which answers others that look for a leader in every role.
 */
export class Electing {
  readonly election: Election
  private readonly links: Links
  private readonly parts: ElectingParts
  private readonly self: ServerId

  constructor(parts: ElectingParts, options: EnsembleOptions) {
    const { self, membership, rules, electionTiming, electionAddresses } = options
    this.parts = parts
    this.self = self
    this.links = new Links({ self, addresses: electionAddresses, onCrowded: parts.crowded })
    this.election = new Election({
      self,
      config: { committed: membership },
      reconfigEnabled: rules.reconfigEnabled,
      ...(electionTiming === undefined ? {} : { timing: electionTiming }),
      isGone: (server) => this.links.isGone(server),
    })
  }

  /** Starts an election; messages leave with the next `pump`. */
  start(last: { readonly zxid: bigint; readonly peerEpoch: bigint }, successor?: ServerId): void {
    this.election.start(last, this.parts.nowMs(), successor)
  }

  reconfigure(config: ElectionConfig): void {
    this.election.reconfigure(config)
    const addresses = config.committed.servers.get(this.self)?.addresses
    if (addresses === undefined) return
    this.links.moved(addresses.map(({ host, electionPort }) => `${host}:${electionPort}`))
  }

  tick(): void {
    this.election.tick(this.parts.nowMs())
    this.pump()
  }

  /** Something happened on the election port; `tell` passes it on. */
  input(tell: (links: Links) => void): void {
    tell(this.links)
    this.election.reachabilityChanged(this.parts.nowMs())
    this.pump()
  }

  /** Passes messages between the election, its connections, and the host. */
  pump(): void {
    const { parts, election, links } = this
    for (let isBusy = true; isBusy;) {
      const { send, decision, newerConfig, proposedConfig } = election.takeReady()
      const isRestarted =
        (newerConfig !== undefined && parts.adoptConfig(newerConfig)) ||
        (proposedConfig !== undefined && parts.adoptProposedConfig(proposedConfig))
      isBusy = isRestarted
      for (const { to, notification } of send) links.send(to, encodeNotification(notification))
      if (this.carryOut()) isBusy = true
      if (decision !== undefined && !isRestarted) parts.decided(decision)
    }
    if (election.isDeserted) parts.deserted()
  }

  /** Carries out what the connections ask for; true if there was anything. */
  private carryOut(): boolean {
    const { parts, election, links } = this
    const actions = links.takeActions()
    for (const action of actions) {
      if (action.type !== 'message') {
        parts.network.perform(action)
        continue
      }
      const notification = readNotification(action.payload)
      if (notification !== undefined) election.receive(action.from, notification, parts.nowMs())
    }
    return actions.length > 0
  }
}
