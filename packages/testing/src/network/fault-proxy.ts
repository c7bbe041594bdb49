import { parseServers } from '@zabra/client/internal'
import { FaultLink, type Interceptor } from './fault-link.ts'
import { FaultGroup, type Direction } from './faults.ts'

/**
 * Sits between clients and a ZooKeeper, zabra's or Apache's, and disturbs connections as networks
 * do. Clients connect to `connectString` instead.
 *
 *     await using proxy = await startProxy('127.0.0.1:2181')
 *     const client = await connect(proxy.connectString)
 *     proxy.hold({ direction: 'toClient' }) // requests arrive, replies do not
 *     await proxy.heal()
 */
export class FaultProxy extends FaultGroup implements AsyncDisposable {
  /** One link per server, in the order of the connect string, for faults of one server. */
  readonly links: readonly FaultLink[]
  private readonly chroot: string

  constructor(links: readonly FaultLink[], chroot: string) {
    super(() => this.links)
    this.links = links
    this.chroot = chroot
  }

  /** The connect string for clients; includes the chroot of the servers, if any. */
  get connectString(): string {
    return this.links.map(({ address }) => address).join(',') + this.chroot
  }

  /** The port for the first server. */
  get port(): number {
    return this.links[0]!.port
  }

  /** The number of open connections. */
  get connections(): number {
    return this.links.reduce((sum, { connections }) => sum + connections, 0)
  }

  /**
   * The number of bytes that have passed.
   *
   *     const before = proxy.bytes('toServer')
   *     await until(() => proxy.bytes('toServer') > before)
   */
  bytes(direction: Direction): number {
    return this.links.reduce((sum, link) => sum + link.bytes(direction), 0)
  }

  /**
   * Passes everything to a function, which may return other bytes to send instead. `heal` leaves it
   * in place; `undefined` removes it.
   *
   *     proxy.intercept((bytes, direction) => {
   *       if (direction === 'toClient') console.log(bytes.length)
   *     })
   */
  intercept(interceptor: Interceptor | undefined): void {
    for (const link of this.links) link.intercept(interceptor)
  }

  /**
   * Closes every connection and frees the ports.
   *
   *     await proxy.stop() // or: await using proxy = await startProxy(servers)
   */
  async stop(): Promise<void> {
    await Promise.all(this.links.map((link) => link.stop()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

/**
 * Starts a proxy in front of these servers (`host:port,host:port/chroot`). It listens on the
 * loopback interface.
 *
 *     await using proxy = await startProxy('127.0.0.1:2181/app')
 *     const client = await connect(proxy.connectString)
 */
export async function startProxy(servers: string): Promise<FaultProxy> {
  const { servers: targets, chroot } = parseServers(servers)
  return new FaultProxy(await Promise.all(targets.map((one) => FaultLink.open(one))), chroot)
}
