import { parseServers } from '@zabra/client/internal'
import { FaultLink, type Interceptor } from './fault-link.ts'
import { FaultGroup, type Direction } from './faults.ts'

/**
 * Stands between clients and a ZooKeeper, zabra's or Apache's, and does to connections what networks
 * do. Clients connect to `connectString` instead.
 *
 *     await using proxy = await startProxy('127.0.0.1:2181')
 *     const client = await connect(proxy.connectString)
 *     proxy.hold({ direction: 'toClient' }) // the client is heard, and hears nothing
 *     await proxy.heal()
 */
export class FaultProxy extends FaultGroup implements AsyncDisposable {
  /** One for each server, in the order of the connect string: for faults of one of them. */
  readonly links: readonly FaultLink[]
  private readonly chroot: string

  constructor(links: readonly FaultLink[], chroot: string) {
    super(() => this.links)
    this.links = links
    this.chroot = chroot
  }

  /** What clients connect to; with the chroot, if the servers were given with one. */
  get connectString(): string {
    return this.links.map(({ address }) => address).join(',') + this.chroot
  }

  /** Of the first server. */
  get port(): number {
    return this.links[0]!.port
  }

  /** How many connections are open. */
  get connections(): number {
    return this.links.reduce((sum, { connections }) => sum + connections, 0)
  }

  /**
   * How many bytes have passed.
   *
   *     const before = proxy.bytes('toServer')
   *     await until(() => proxy.bytes('toServer') > before)
   */
  bytes(direction: Direction): number {
    return this.links.reduce((sum, link) => sum + link.bytes(direction), 0)
  }

  /**
   * Shows everything that passes to a function, which may return other bytes to send instead. `heal`
   * leaves it in place; `undefined` takes it away.
   *
   *     proxy.intercept((bytes, direction) => {
   *       if (direction === 'toClient') console.log(bytes.length)
   *     })
   */
  intercept(interceptor: Interceptor | undefined): void {
    for (const link of this.links) link.intercept(interceptor)
  }

  /**
   * Ends every connection and frees the ports.
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
 * A proxy in front of these servers: `host:port,host:port/chroot`. It listens on the loopback interface.
 *
 *     await using proxy = await startProxy('127.0.0.1:2181/app')
 *     const client = await connect(proxy.connectString)
 */
export async function startProxy(servers: string): Promise<FaultProxy> {
  const { servers: targets, chroot } = parseServers(servers)
  return new FaultProxy(await Promise.all(targets.map((one) => FaultLink.open(one))), chroot)
}
