import { LinkProxy } from '../../packages/server/test/support/chaos/link-proxy.ts'
import type { EnsembleServer, PeerPorts } from '../src/ensemble.ts'

interface Link {
  readonly from: EnsembleServer
  readonly to: EnsembleServer
  readonly quorum: LinkProxy
  readonly election: LinkProxy
}

/** All connections between servers, through proxies that can disturb them. */
export class Links {
  private readonly links: readonly Link[]

  static async open(servers: readonly EnsembleServer[]): Promise<Links> {
    const links: Link[] = []
    for (const from of servers) {
      for (const to of servers.filter((server) => server !== from)) {
        const quorum = await LinkProxy.open(to.ports.quorum)
        const election = await LinkProxy.open(to.ports.election)
        links.push({ from, to, quorum, election })
      }
    }
    return new Links(links)
  }

  private constructor(links: readonly Link[]) {
    this.links = links
  }

  /** The ports at which one server reaches another; undefined for itself. */
  ports(from: EnsembleServer, to: EnsembleServer): PeerPorts | undefined {
    const link = this.links.find((one) => one.from === from && one.to === to)
    return link && { quorum: link.quorum.port, election: link.election.port }
  }

  /** Closes all connections of a server to others, and refuses new ones. */
  cut(server: EnsembleServer): void {
    for (const { from, to, quorum, election } of this.links) {
      if (from !== server && to !== server) continue
      quorum.cut()
      election.cut()
    }
  }

  /** The others lose their connections to a leader, and it does not notice. */
  strand(leader: EnsembleServer): void {
    for (const { from, to, quorum, election } of this.links) {
      if (from !== leader && to !== leader) continue
      for (const direction of ['up', 'down'] as const) {
        quorum.hold(direction)
        election.hold(direction)
      }
      if (to === leader) quorum.strand()
    }
  }

  heal(): void {
    for (const { quorum, election } of this.links) {
      quorum.heal()
      election.heal()
    }
  }

  close(): void {
    for (const { quorum, election } of this.links) {
      quorum.close()
      election.close()
    }
  }
}
