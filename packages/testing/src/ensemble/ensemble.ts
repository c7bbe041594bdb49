import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@zabra/client'
import { checkOptionNames } from '@zabra/client/internal'
import type { Overrides } from '@zabra/server'
import { FaultLink } from '../network/fault-link.ts'
import { FaultProxy } from '../network/fault-proxy.ts'
import { nextState, untilCalled, type WaitOptions } from '../wait.ts'
import { TestServer, type StopOptions, type Surroundings } from './test-server.ts'
import { Wiring } from './wiring.ts'

export interface EnsembleOptions {
  /** The number of voting servers; 3 by default. A single one is standalone. */
  readonly servers?: number | undefined
  /** The number of additional servers without a vote. */
  readonly observers?: number | undefined
  /**
   * Settings of every server, by their names in zoo.cfg. Not `reconfigEnabled`, except for a single
   * server: the servers of an ensemble reach each other through links of their own.
   */
  readonly config?: Overrides | undefined
  /** Additional settings of one server, for its next start. */
  readonly configOf?: ((id: number) => Overrides) | undefined
  /**
   * Where the servers keep their data, which is not deleted afterwards; a temporary directory by
   * default.
   */
  readonly directory?: string | undefined
}

/** Servers, by number or as objects, and links of clients. */
export type PartitionMember = TestServer | number | FaultProxy

const optionNames: Readonly<Record<keyof EnsembleOptions, true>> = {
  servers: true,
  observers: true,
  config: true,
  configOf: true,
  directory: true,
}
const serversMax = 9
const removeOptions = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const
/** Notices failures quickly, and is patient enough for a busy machine. */
const defaults: Overrides = {
  tickTime: 200,
  initLimit: 25,
  syncLimit: 10,
  // Lets clients choose their session timeouts.
  maxSessionTimeout: 120_000,
  // A test cannot cut the power, so syncs are not needed.
  forceSync: 'no',
  preAllocSize: 64,
}

/**
 * Real zabra servers, each in its own thread, with real sockets and files: shows what a program
 * does when they stop, pause, or lose their network or disks.
 *
 *     await using ensemble = await startEnsemble({ servers: 3 })
 *     const client = await connect(ensemble.connectString)
 *     const leader = await ensemble.leader()
 *     await leader.kill()
 */
export class Ensemble implements AsyncDisposable {
  readonly servers: readonly TestServer[]
  /** The network between clients and servers, for faults. `connectString` goes through it. */
  readonly clients: FaultProxy
  private readonly directory: string
  private readonly keepsDirectory: boolean
  private readonly voters: number
  private readonly wiring: Wiring | undefined
  private readonly proxies = new Set<FaultProxy>()
  private readonly ports = new Map<number, number>()
  private readonly listeners = new Set<() => void>()
  private stopping: Promise<void> | undefined
  private readonly onExit = (): void => {
    if (!this.keepsDirectory) rmSync(this.directory, removeOptions)
  }

  /** @internal Use `startEnsemble`. */
  static async start(options: EnsembleOptions): Promise<Ensemble> {
    checkOptionNames('an ensemble', options, optionNames)
    const { servers: voters = 3, observers = 0 } = options
    const count = voters + observers
    if (!Number.isInteger(voters) || !Number.isInteger(observers) || voters < 1 || observers < 0)
      throw new TypeError('servers is 1 or more, and observers 0 or more')
    if (count > serversMax) throw new TypeError(`an ensemble has at most ${serversMax} servers`)
    if (count > 1 && isOn(options.config?.['reconfigEnabled']))
      throw new TypeError(
        'an ensemble of several servers cannot have reconfigEnabled: each server reaches the others through links of its own, which no common list of members can name',
      )
    const ids = Array.from({ length: count }, (_, i) => i + 1)
    const wiring = count === 1 ? undefined : await Wiring.open(ids)
    const links = await Promise.all(ids.map(() => FaultLink.open(undefined)))
    const ensemble = new Ensemble(ids, wiring, new FaultProxy(links, ''), options)
    try {
      await Promise.all(ensemble.servers.map((server) => server.start()))
      await ensemble.untilServing()
    } catch (error) {
      await ensemble.stop({ kill: true })
      throw error
    }
    return ensemble
  }

  private constructor(
    ids: readonly number[],
    wiring: Wiring | undefined,
    clients: FaultProxy,
    options: EnsembleOptions,
  ) {
    const { directory, servers = 3 } = options
    this.keepsDirectory = directory !== undefined
    this.directory = directory ?? mkdtempSync(join(tmpdir(), 'zabra-ensemble-'))
    mkdirSync(this.directory, { recursive: true })
    this.wiring = wiring
    this.clients = clients
    this.proxies.add(clients)
    this.voters = servers
    this.servers = ids.map((id) => new TestServer(id, this.surroundingsOf(id, options)))
    process.once('exit', this.onExit)
  }

  // --- members -----------------------------------------------------------------------------------

  /** The addresses of all servers, for clients. */
  get connectString(): string {
    return this.clients.connectString
  }

  /**
   * The server with this number, from 1.
   *
   *     await ensemble.server(2).pause({ forMs: 3000 })
   */
  server(id: number): TestServer {
    const server = this.servers[id - 1]
    if (server === undefined) throw new RangeError(`servers are 1 to ${this.servers.length}`)
    return server
  }

  /**
   * The server at this address, which is in the state of a connected client.
   *
   *     if (client.state.name === 'connected') await ensemble.serverAt(client.state.server)?.kill()
   */
  serverAt(address: string): TestServer | undefined {
    for (const proxy of this.proxies) {
      const index = proxy.links.findIndex((link) => link.address === address)
      if (index >= 0) return this.servers[index]
    }
    return undefined
  }

  /**
   * Resolves to the leader once a majority follows it; with a single server, to that. A leader that
   * was replaced and has not noticed yet does not count.
   *
   *     const leader = await ensemble.leader()
   *     await leader.restart({ kill: true })
   */
  leader(options: WaitOptions = {}): Promise<TestServer> {
    return this.until('a server leads', () => this.currentLeader(), options)
  }

  /**
   * Resolves to the followers, once every running server follows or leads.
   *
   *     const [first] = await ensemble.followers()
   *     await first!.stop()
   */
  async followers(options: WaitOptions = {}): Promise<TestServer[]> {
    await this.untilServing(options)
    return this.servers.filter(({ role }) => role === 'follower')
  }

  /**
   * Resolves once all servers that are neither stopped nor paused serve clients, under one leader;
   * rejects if one has ended by itself.
   *
   *     await ensemble.untilServing({ timeoutMs: 10_000 })
   */
  async untilServing(options: WaitOptions = {}): Promise<void> {
    const { servers } = this
    const outcome = await this.until(
      'all servers that run serve',
      () =>
        servers.find(({ failure }) => failure !== undefined) ??
        (this.leads() && servers.every(({ state, isServing }) => state !== 'running' || isServing)),
      options,
    )
    if (outcome instanceof TestServer)
      throw new Error(`server ${outcome.id} has ended by itself: ${outcome.failure!.message}`, {
        cause: outcome.failure,
      })
  }

  // --- the network -------------------------------------------------------------------------------

  /**
   * Splits the servers into groups that cannot reach each other; servers that are not named form
   * another group. Connections go silent without an error. A later partition replaces this one.
   *
   *     ensemble.partition([1], [2, 3])
   *
   * A client link can be in a group too; clients without a link reach all servers.
   */
  partition(...groups: readonly (readonly PartitionMember[])[]): void {
    const named = groups.map((group) => group.map((member) => this.memberOf(member)))
    const rest = this.servers.filter((server) => !named.flat().includes(server))
    const all = [...named, rest]
    for (const link of this.wiring?.links ?? []) link.release()
    for (const proxy of this.proxies) proxy.release()
    for (const [i, group] of all.entries()) {
      const others = all.flatMap((other, j) => (i === j ? [] : other))
      for (const member of group) for (const other of others) this.separate(member, other)
    }
  }

  /**
   * Nothing that these servers send arrives at those; the other direction is not affected.
   *
   *     ensemble.hold({ from: [1], to: [2] }) // server 2 does not hear server 1
   */
  hold({
    from,
    to,
  }: {
    readonly from: readonly (TestServer | number)[]
    readonly to: readonly (TestServer | number)[]
  }): void {
    for (const one of from) {
      for (const other of to) this.wiring?.hold(idOf(one), idOf(other))
    }
  }

  /**
   * Delays everything by this time: between servers, and between servers and clients.
   *
   *     ensemble.slow(50)
   */
  slow(ms: number, options?: { readonly jitterMs?: number | undefined }): void {
    for (const link of this.wiring?.links ?? []) link.delay(ms, options)
    for (const proxy of this.proxies) proxy.delay(ms, options)
  }

  /**
   * A separate network between a client and the servers, for faults of this client alone, with its
   * own connect string. It ends with the ensemble.
   *
   *     const link = await ensemble.clientLink()
   *     const lonely = await connect(link.connectString)
   *     ensemble.partition([link])
   */
  async clientLink(): Promise<FaultProxy> {
    const links = await Promise.all(
      this.servers.map(({ id }) => FaultLink.open(targetOf(this.ports.get(id)))),
    )
    const proxy = new FaultProxy(links, '')
    this.proxies.add(proxy)
    return proxy
  }

  // --- sessions ----------------------------------------------------------------------------------

  /**
   * Expires a session, as the servers do when a client is silent for too long, and deletes its
   * ephemeral nodes. For a client, resolves once it knows; for the id of a session, once the
   * session has ended.
   *
   *     await ensemble.expire(client)
   *     await client.connected() // in a new session
   */
  async expire(session: Client | bigint): Promise<void> {
    if (typeof session === 'bigint') {
      await this.endSession(session)
      return
    }
    await session.connected()
    const known = nextState(session, 'expired')
    await this.endSession(session.session!.id)
    await known
  }

  // --- all of it ---------------------------------------------------------------------------------

  /**
   * Undoes every fault: networks work again, paused servers continue, stopped servers start.
   * Resolves once all serve.
   *
   *     ensemble.partition([1], [2, 3])
   *     await ensemble.heal()
   */
  async heal(options: WaitOptions = {}): Promise<void> {
    await Promise.all([
      ...(this.wiring?.links ?? []).map((link) => link.heal()),
      ...Array.from(this.proxies, (proxy) => proxy.heal()),
      ...this.servers.map((server) => server.resume()),
    ])
    await Promise.all(this.servers.map((server) => server.start()))
    await this.untilServing(options)
  }

  /**
   * Stops all servers and deletes their files.
   *
   *     const ensemble = await startEnsemble()
   *     await ensemble.stop() // or: await using ensemble = ...
   */
  stop(options: StopOptions = {}): Promise<void> {
    this.stopping ??= this.shutDown(options)
    return this.stopping
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop({ kill: true })
  }

  private async shutDown(options: StopOptions): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(options)))
    await this.wiring?.stop()
    await Promise.all(Array.from(this.proxies, (proxy) => proxy.stop()))
    process.off('exit', this.onExit)
    this.onExit()
  }

  private surroundingsOf(id: number, { config, configOf }: EnsembleOptions): Surroundings {
    const roleOf = (of: number): string => (of <= this.voters ? 'participant' : 'observer')
    const directory = join(this.directory, `server-${id}`)
    return {
      directory,
      config: () => ({
        ...defaults,
        ...this.wiring?.members(id, roleOf),
        ...config,
        ...configOf?.(id),
        ...(this.wiring === undefined ? {} : { myid: id }),
        ...(roleOf(id) === 'observer' ? { peerType: 'observer' } : {}),
        dataDir: directory,
        clientPort: 0,
      }),
      address: () => this.clients.links[id - 1]!.address,
      vacate: async () => this.wiring?.vacate(id),
      up: (clientPort) => this.up(id, clientPort),
      links: () => [
        ...(this.wiring?.of(id) ?? []),
        ...Array.from(this.proxies, ({ links }) => links[id - 1]!),
      ],
      isolate: () => this.partition([id]),
      changed: () => {
        for (const listener of this.listeners) listener()
      },
    }
  }

  private async up(id: number, clientPort: number | undefined): Promise<void> {
    if (clientPort === undefined) this.ports.delete(id)
    else this.ports.set(id, clientPort)
    const target = targetOf(clientPort)
    await Promise.all([
      this.wiring?.setUp(id, clientPort !== undefined),
      ...Array.from(this.proxies, ({ links }) => links[id - 1]!.leadTo(target)),
    ])
  }

  private currentLeader(): TestServer | undefined {
    const leaders = this.servers.filter(
      ({ role, isServing }) => isServing && (role === 'leader' || role === 'standalone'),
    )
    const [newest] = leaders.toSorted((a, b) => Number(b.epoch - a.epoch))
    if (newest === undefined || newest.role === 'standalone') return newest
    const followers = this.servers.filter(
      ({ role, isServing, epoch }) => role === 'follower' && isServing && epoch >= newest.epoch,
    )
    return 2 * (followers.length + 1) > this.voters ? newest : undefined
  }

  /** Whether one server leads, and no other one believes to lead. */
  private leads(): boolean {
    const leaders = this.servers.filter(({ role }) => role === 'leader')
    return leaders.length <= 1 && this.currentLeader() !== undefined
  }

  private memberOf(member: PartitionMember): TestServer | FaultProxy {
    return typeof member === 'number' ? this.server(member) : member
  }

  private separate(one: TestServer | FaultProxy, other: TestServer | FaultProxy): void {
    if (one instanceof TestServer && other instanceof TestServer)
      this.wiring?.hold(one.id, other.id)
    else if (one instanceof FaultProxy && other instanceof TestServer)
      one.links[other.id - 1]!.hold()
  }

  private async endSession(id: bigint): Promise<void> {
    for (;;) {
      const leader = await this.leader()
      // Its client may have connected in between, or the leader may be gone.
      if ((await leader.endSession(id)) !== 'again') return
    }
  }

  private until<T>(
    what: string,
    condition: () => T | undefined | false,
    options: WaitOptions,
  ): Promise<T> {
    const now = condition()
    if (now !== undefined && now !== false) return Promise.resolve(now as T)
    return untilCalled<T>(what, options, (resolve) => {
      const look = (): void => {
        const result = condition()
        if (result !== undefined && result !== false) resolve(result as T)
      }
      this.listeners.add(look)
      return () => this.listeners.delete(look)
    }).catch((error: unknown) => {
      throw Object.assign(error as Error, {
        message: `${(error as Error).message}; ${this.describe()}`,
      })
    })
  }

  private describe(): string {
    const told = this.servers.map(({ id, state, role, failure }) => {
      const how = failure === undefined ? (role ?? state) : `ended: ${failure.message}`
      return `server ${id} is ${how}`
    })
    return told.join(', ')
  }
}

/**
 * Starts servers for a test; resolves once all serve.
 *
 *     await using ensemble = await startEnsemble({ servers: 3, config: { tickTime: 100 } })
 *     const client = await connect(ensemble.connectString)
 */
export function startEnsemble(options: EnsembleOptions = {}): Promise<Ensemble> {
  return Ensemble.start(options)
}

function isOn(value: unknown): boolean {
  return String(value) === 'true'
}

function idOf(server: TestServer | number): number {
  return typeof server === 'number' ? server : server.id
}

function targetOf(port: number | undefined): { host: string; port: number } | undefined {
  return port === undefined ? undefined : { host: '127.0.0.1', port }
}
