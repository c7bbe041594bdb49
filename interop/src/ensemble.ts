/**
 * Ensembles of servers as child processes, of one kind or several.
 *
 *     const ensemble = await Ensemble.start(Array(3).fill(zabraCommand()), { cfg: 'tickTime=500' })
 *     const leader = await ensemble.leader()
 *     await leader.stop('SIGKILL')
 *     await ensemble.dispose()
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { ServerCommand } from './commands.ts'
import { loopback, ManagedServer, type ServerOptions } from './servers.ts'
import { until } from './until.ts'

export type Role = 'participant' | 'observer'

export interface EnsembleOptions extends Pick<
  ServerOptions,
  'properties' | 'keepsCfg' | 'stopTimeoutMs'
> {
  /** Lines of every server's zoo.cfg, before those of the members. */
  readonly cfg: string
  /** Additional lines for one server. */
  readonly cfgOf?: (server: EnsembleServer) => string
  /** Numbers of the observers. */
  readonly observers?: readonly number[]
  /** Numbers of servers that are not members yet; they know the members and themselves. */
  readonly joining?: readonly number[]
  /** Whether each server line contains the client port, as in a dynamic configuration. */
  readonly namesClientPorts?: boolean
  /**
   * The addresses of the ports between servers; 127.0.0.1 by default. Clients connect to 127.0.0.1.
   */
  readonly peerHosts?: readonly string[]
  /** The ports at which a server reaches another; undefined stands for the other's own ports. */
  readonly portsSeen?: (from: EnsembleServer, to: EnsembleServer) => PeerPorts | undefined
  /** The parent of each server's folder; temporary folders by default. */
  readonly dir?: string
}

/** The ports for other servers. */
export interface PeerPorts {
  readonly quorum: number
  readonly election: number
}

interface Ports extends PeerPorts {
  readonly client: number
  readonly spare: number
}

/**
 * Lines of zoo.cfg for ensembles under test: short ticks with patience, any number of clients, every
 * four-letter word.
 */
export const testCfg = `
tickTime=500
initLimit=20
syncLimit=10
maxClientCnxns=0
preAllocSize=256
4lw.commands.whitelist=*
`

const portsPerServer = 4
const leaderPatienceMs = 40_000

/** One server of an ensemble. */
export class EnsembleServer extends ManagedServer {
  readonly id: number
  readonly ports: Ports
  private readonly peerHost: string

  constructor(
    id: number,
    ports: Ports,
    peerHost: string,
    command: ServerCommand,
    options: ServerOptions,
  ) {
    super(command, { ...options, port: ports.client })
    this.id = id
    this.ports = ports
    this.peerHost = peerHost
  }

  /** The server's line in a configuration. */
  line({
    role = 'participant',
    clientPort,
    ports: { quorum, election } = this.ports,
  }: {
    readonly role?: Role
    readonly clientPort?: number
    readonly ports?: PeerPorts | undefined
  } = {}): string {
    const clients = clientPort === undefined ? '' : `;${this.host}:${clientPort}`
    return `server.${this.id}=${this.peerHost}:${quorum}:${election}:${role}${clients}`
  }

  /** Deletes its data, as if its disk had been replaced; the server must not be running. */
  loseData(): void {
    rmSync(join(this.dir, 'data', 'version-2'), { recursive: true, force: true })
  }
}

export class Ensemble {
  readonly servers: readonly EnsembleServer[]
  private options: EnsembleOptions

  /** Prepares servers 1, 2, ... with these commands, without starting them. */
  static async open(
    commands: readonly ServerCommand[],
    options: EnsembleOptions,
  ): Promise<Ensemble> {
    const ports = await freePorts(portsPerServer * commands.length)
    return new Ensemble(commands, ports, options)
  }

  /** The same, and starts all of them. */
  static async start(
    commands: readonly ServerCommand[],
    options: EnsembleOptions,
  ): Promise<Ensemble> {
    const ensemble = await Ensemble.open(commands, options)
    try {
      await ensemble.start()
    } catch (error) {
      await ensemble.dispose()
      throw error
    }
    return ensemble
  }

  private constructor(
    commands: readonly ServerCommand[],
    ports: readonly number[],
    options: EnsembleOptions,
  ) {
    this.options = options
    const { properties = [], keepsCfg = false, stopTimeoutMs, peerHosts, dir } = options
    this.servers = commands.map((command, i) => {
      const [quorum = 0, election = 0, client = 0, spare = 0] = ports.slice(portsPerServer * i)
      const ownPorts = { quorum, election, client, spare }
      return new EnsembleServer(i + 1, ownPorts, peerHosts?.[i] ?? loopback, command, {
        properties,
        keepsCfg,
        ...(commands.length > 1 ? { myid: i + 1 } : {}),
        ...(stopTimeoutMs === undefined ? {} : { stopTimeoutMs }),
        ...(dir === undefined ? {} : { dir: join(dir, String(i + 1)) }),
      })
    })
    this.configure({})
  }

  /** Changes options of all servers for their next start; none may run. */
  configure(options: Partial<EnsembleOptions>): void {
    this.options = { ...this.options, ...options }
    for (const server of this.servers) server.become({ cfg: this.cfgFor(server) })
  }

  /** The zoo.cfg of one server. */
  cfgFor(server: EnsembleServer, cfg = this.options.cfg): string {
    const {
      cfgOf,
      portsSeen,
      observers = [],
      joining = [],
      namesClientPorts = false,
    } = this.options
    const members = this.servers.filter((one) => one === server || !joining.includes(one.id))
    const lines = members.map((one) => {
      const role = observers.includes(one.id) ? 'observer' : 'participant'
      const clients = namesClientPorts ? { clientPort: one.ports.client } : {}
      return one.line({ role, ports: portsSeen?.(server, one), ...clients })
    })
    // A single server is not an ensemble.
    return [cfg, cfgOf?.(server) ?? '', ...(this.servers.length > 1 ? lines : [])].join('\n')
  }

  server(id: number): EnsembleServer {
    const server = this.servers[id - 1]
    if (server === undefined) throw new Error(`there is no server ${id}`)
    return server
  }

  /** The connect string for clients, without a chroot. */
  get connectString(): string {
    return this.servers.map(({ host, port }) => `${host}:${port}`).join()
  }

  get running(): readonly EnsembleServer[] {
    return this.servers.filter((server) => server.running)
  }

  /**
   * Starts groups of servers one after the other, each after the previous one serves: the server
   * with the highest number in the first group leads. By default all servers form one group.
   */
  async start(...groups: readonly (readonly number[])[]): Promise<void> {
    const all = this.servers.map(({ id }) => id)
    for (const ids of groups.length === 0 ? [all] : groups) {
      await Promise.all(ids.map((id) => this.server(id).launch()))
      await Promise.all(ids.map((id) => this.server(id).untilServing()))
    }
  }

  async untilServing(): Promise<void> {
    await Promise.all(this.running.map((server) => server.untilServing()))
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(signal)))
  }

  /** The first running server in this mode, if there is one. */
  async withMode(mode: string): Promise<EnsembleServer | undefined> {
    const { running } = this
    const modes = await Promise.all(running.map((server) => server.mode()))
    return running[modes.indexOf(mode)]
  }

  /** Waits until there is a leader. */
  async leader(): Promise<EnsembleServer> {
    let leader: EnsembleServer | undefined
    await until('no server leads', leaderPatienceMs, async () => {
      leader = await this.withMode('leader')
      return leader !== undefined
    })
    return leader!
  }

  /**
   * The order for changing servers one by one: the leader last, so that there are few elections.
   */
  async leaderLast(): Promise<EnsembleServer[]> {
    const leader = await this.leader()
    return [...this.servers.filter((server) => server !== leader), leader]
  }

  /** Waits until every server has applied the same transactions. */
  async untilLevel(): Promise<void> {
    await until('the servers are at different zxids', leaderPatienceMs, async () => {
      const [first, ...others] = await Promise.all(this.servers.map((server) => server.zxid()))
      return first !== undefined && others.every((zxid) => zxid === first)
    })
  }

  /** The last log lines of every server, for reports. */
  logTails(lineCount: number): string[] {
    return this.servers.map((server) => server.logTail(lineCount))
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()))
  }
}
