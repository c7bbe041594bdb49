import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@zabra/client'
import { askFourLetters } from '../../interop/src/four-letters.ts'
import { findApacheServer } from '../apache.ts'
import { Cluster } from '../cluster.ts'
import { findZabra } from '../zabra.ts'
import type { Contestant } from './contestants.ts'
import type { ClientBenchOptions } from './options.ts'
import { Player } from './player.ts'

const dataBytes = 100
/**
 * Without these settings the disk would dominate the cost of a write for all clients, and a faster
 * client would cause snapshots more often.
 */
const withoutDisk = ['forceSync=no', 'snapCount=1000000000']

/** One server, and a client of our own that creates and changes what the others read and watch. */
export class Arena implements AsyncDisposable {
  readonly hand: Client
  readonly #cluster: Cluster

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.hand = new Client({ servers: cluster.hosts })
  }

  static async open(server: ClientBenchOptions['server']): Promise<Arena> {
    const kind = server === 'zabra' ? findZabra() : await findApacheServer('3.9', ['-Xmx1000m'])
    const dir = join(tmpdir(), `zabra-bench-clients-${process.pid}`)
    const cluster = await Cluster.create(kind, dir, 1, { config: withoutDisk, tls: false })
    await cluster.start()
    return new Arena(cluster)
  }

  get serverVersion(): string {
    return this.#cluster.kind.version
  }

  /** Each client has its own tree. */
  async enter(contestant: Contestant): Promise<Player> {
    const root = `/bench-${contestant.name}`
    if ((await this.hand.exists(root)) === undefined) {
      await this.hand.create(root)
      await this.hand.create(`${root}/data`, new Uint8Array(dataBytes))
    }
    return Player.start(contestant, this.#cluster.hosts, root)
  }

  /** The number of requests that the server has counted. */
  async requestsReceived(): Promise<number> {
    const [host = '', port] = this.#cluster.hosts.split(':')
    const answer = await askFourLetters(host, Number(port), 'srvr')
    return Number(/^Received: (\d+)$/m.exec(answer)?.[1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hand.close()
    await this.#cluster.stop('SIGKILL')
    this.#cluster.remove()
  }
}
