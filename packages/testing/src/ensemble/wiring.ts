import type { Server } from 'node:net'
import { FaultLink } from '../network/fault-link.ts'
import { freePorts, occupyPort } from '../network/free-ports.ts'

const loopback = '127.0.0.1'
/** A server that has just started may not listen yet. */
const dialMsMax = 400

interface Ports {
  readonly quorum: number
  readonly election: number
}

/** The link from one server to another, for connections that the first one dials. */
interface Way {
  readonly from: number
  readonly to: number
  readonly quorum: FaultLink
  readonly election: FaultLink
}

/**
 * The network between the servers of an ensemble. Each server reaches each other one through a
 * separate link, so what one sees of another can differ from what a third sees.
 */
export class Wiring {
  private readonly ports: ReadonlyMap<number, Ports>
  private readonly ways: readonly Way[]
  /** Keep the ports of servers that do not run from other processes. */
  private readonly occupants = new Map<number, Promise<Server[]>>()
  private isStopped = false

  private constructor(ports: ReadonlyMap<number, Ports>, ways: readonly Way[]) {
    this.ports = ports
    this.ways = ways
  }

  static async open(ids: readonly number[]): Promise<Wiring> {
    const free = await freePorts(2 * ids.length)
    const ports = new Map(
      ids.map((id, i) => [id, { quorum: free[2 * i]!, election: free[2 * i + 1]! }]),
    )
    const pairs = ids.flatMap((from) => ids.filter((id) => id !== from).map((to) => ({ from, to })))
    const open = (port: number): Promise<FaultLink> =>
      FaultLink.open({ host: loopback, port }, dialMsMax)
    const ways = await Promise.all(
      pairs.map(async ({ from, to }) => {
        const { quorum, election } = ports.get(to)!
        return { from, to, quorum: await open(quorum), election: await open(election) }
      }),
    )
    return new Wiring(ports, ways)
  }

  /** The `server.N` lines: where a server listens, and where it finds the others. */
  members(self: number, roleOf: (id: number) => string): Record<string, string> {
    const lines = [...this.ports].map(([id, own]) => {
      const way = this.ways.find(({ from, to }) => from === self && to === id)
      const quorum = way?.quorum.port ?? own.quorum
      const election = way?.election.port ?? own.election
      return [`server.${id}`, `${loopback}:${quorum}:${election}:${roleOf(id)}`]
    })
    return Object.fromEntries(lines) as Record<string, string>
  }

  /** The server is about to start: it can listen on its ports. */
  async vacate(id: number): Promise<void> {
    const occupants = await this.occupants.get(id)
    this.occupants.delete(id)
    await Promise.all(
      (occupants ?? []).map((one) => new Promise<void>((closed) => one.close(() => closed()))),
    )
  }

  /** A server that does not run refuses connections. */
  async setUp(id: number, isUp: boolean): Promise<void> {
    const { quorum, election } = this.ports.get(id)!
    if (!isUp && !this.isStopped && !this.occupants.has(id))
      this.occupants.set(id, Promise.all([occupyPort(quorum), occupyPort(election)]))
    const target = (port: number) => (isUp ? { host: loopback, port } : undefined)
    await Promise.all(
      this.ways
        .filter(({ to }) => to === id)
        .flatMap((way) => [
          way.quorum.leadTo(target(quorum)),
          way.election.leadTo(target(election)),
        ]),
    )
  }

  /** Blocks everything that one server sends to the other. */
  hold(from: number, to: number): void {
    for (const link of this.dialedBy(from, to)) link.hold({ direction: 'toServer' })
    for (const link of this.dialedBy(to, from)) link.hold({ direction: 'toClient' })
  }

  /** All links between these two, whichever of them dials. */
  between(one: number, other: number): FaultLink[] {
    return [...this.dialedBy(one, other), ...this.dialedBy(other, one)]
  }

  /** All links of a server. */
  of(id: number): FaultLink[] {
    return this.ways
      .filter(({ from, to }) => from === id || to === id)
      .flatMap(({ quorum, election }) => [quorum, election])
  }

  get links(): FaultLink[] {
    return this.ways.flatMap(({ quorum, election }) => [quorum, election])
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await Promise.all([...this.occupants.keys()].map((id) => this.vacate(id)))
    await Promise.all(this.links.map((link) => link.stop()))
  }

  private dialedBy(from: number, to: number): FaultLink[] {
    return this.ways
      .filter((way) => way.from === from && way.to === to)
      .flatMap(({ quorum, election }) => [quorum, election])
  }
}
