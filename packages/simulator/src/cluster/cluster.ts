import { Admin } from '../client/admin.ts'
import { SimClient } from '../client/client.ts'
import { History } from '../history/history.ts'
import { Recorder } from '../history/recorder.ts'
import type { Mutant } from './mutant.ts'
import { Network } from '../world/network.ts'
import { Random } from '../world/random.ts'
import { World } from '../world/world.ts'
import {
  asEnsemble,
  drawServerOptions,
  type ServerOptions,
  type ZabKnobs,
} from './server-options.ts'
import { SimServer } from './server.ts'
import { drawMembership, drawStrangers, type Shape } from './shape.ts'

export interface ClusterOptions {
  readonly seed: string
  /** 1 is a standalone server; more are the voters of an ensemble. */
  readonly servers: number
  readonly shape: Shape
  readonly clients: number
  /** Whether members are added and removed. */
  readonly isChanging: boolean
  /** How long a container that never had a child stays; forever by default. */
  readonly neverUsedMsMax?: number | undefined
  /** The minimum number of transactions in an epoch. */
  readonly epochRoomMin?: bigint | undefined
  /** Whether sessions begin as local ones, or even stay that; random by default. */
  readonly localSessions?: boolean | 'kept' | undefined
  readonly mutant?: Mutant | undefined
  /** Settings of every leader, instead of random ones. */
  readonly zab?: ZabKnobs | undefined
  /** Changes the drawn options of the servers. */
  readonly adjust?: ((drawn: ServerOptions) => ServerOptions) | undefined
  /** How the world waits between two events; by default until no microtask is left. */
  readonly wait?: ((next: () => void) => void) | undefined
}

/** Real servers and clients in one virtual world. */
export class Cluster {
  readonly random: Random
  readonly world: World
  readonly network: Network
  readonly recorder: Recorder
  readonly history = new History()
  readonly servers: readonly SimServer[]
  readonly clients: readonly SimClient[]
  /**
   * The number of nodes in the large directory; undefined if there are no trees that everybody may
   * write to.
   */
  manyNodes: number | undefined
  /** From now on nothing may fail, and there must be progress. */
  isHealed = false
  /** The client that changes the members. */
  readonly admin: Admin
  private readonly names: readonly string[]

  constructor(of: ClusterOptions) {
    const { seed, servers, shape, clients, isChanging, neverUsedMsMax = 0, mutant } = of
    const { epochRoomMin = 0n, zab = mutant?.zab, adjust = (drawn) => drawn } = of
    const random = new Random(seed)
    this.random = random
    this.world = new World(random, of.wait)
    const drawn = random.fork('cluster')
    const slow = drawn.chance(0.3)
    this.network = new Network(this.world, random.fork('network'), {
      delayMsMin: slow ? 5 : 0.05,
      delayMsMax: slow ? 80 : 3,
      splitChance: drawn.pick([0, 0.1, 0.5]),
    })
    const membership =
      servers === 1 ? undefined : drawMembership(servers, shape, random.fork('membership'))
    this.recorder = new Recorder(this.world, this.history, membership)
    const drawnOptions = adjust(drawServerOptions(random.fork('options'), neverUsedMsMax))
    const options =
      membership === undefined
        ? [drawnOptions]
        : asEnsemble(
            drawnOptions,
            membership,
            random.fork('ensemble options'),
            isChanging ? drawStrangers(membership, random.fork('strangers')) : undefined,
            mutant?.observerMasters,
            of.localSessions ?? mutant?.localSessions,
          )
            .map((one) => withKnobs(withEpochRoom(one, epochRoomMin), zab))
            .map((one) => ({ ...one, forceSync: mutant?.forceSync ?? one.forceSync }))
    const { localSessions = false, upgradesSessions = true } = options[0]!.ensemble ?? {}
    this.history.hasLocalSessions = localSessions
    this.history.haveOnlyLocalSessions = localSessions && !upgradesSessions
    this.names = options.map((_, i) => `server-${i + 1}`)
    const { world, network, recorder } = this
    this.servers = this.names.map(
      (name, i) =>
        new SimServer(name, {
          world,
          network,
          random: random.fork(name),
          options: options[i]!,
          recorder,
          mutant,
          clock: { rate: 0.97 + drawn.next() * 0.06, wallOffsetMs: 0 },
        }),
    )
    this.admin = new Admin(this)
    this.clients = Array.from({ length: clients }, (_, i) => this.makeClient(`client-${i + 1}`))
  }

  /** Whether a server is not a member at first. */
  isStranger({ options }: SimServer): boolean {
    const { self } = options.ensemble ?? {}
    return self !== undefined && this.recorder.ensemble?.membership.servers.has(self) === false
  }

  get tickMs(): number {
    return this.servers[0]!.options.peer.tickMs
  }

  makeClient(name: string): SimClient {
    const { world, network, recorder, history } = this
    return new SimClient(name, {
      world,
      network,
      history,
      servers: { names: this.names },
      random: this.random.fork(name),
      trace: (line) => recorder.trace(line),
      timeoutMs: this.tickMs * this.random.fork(`timeout of ${name}`).between(2, 8),
    })
  }
}

function withKnobs(options: ServerOptions, knobs: ZabKnobs = {}): ServerOptions {
  const { ensemble } = options
  if (ensemble === undefined) return options
  return { ...options, ensemble: { ...ensemble, zab: { ...ensemble.zab, ...knobs } } }
}

function withEpochRoom(options: ServerOptions, least: bigint): ServerOptions {
  const { ensemble } = options
  if (ensemble?.counterMax === undefined || ensemble.counterMax >= least) return options
  return { ...options, ensemble: { ...ensemble, counterMax: least } }
}
