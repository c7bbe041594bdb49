import { isRefusal, joinPath, type CallOptions, type Client, type ReadOptions } from '@zabra/client'
import { callNames, checkOptionNames, checkPath, makeGuid } from '@zabra/client/internal'
import { Group } from './group.ts'
import { limited } from './waiting/limits.ts'
import { mapLive, type Live } from './live/live.ts'
import { persist } from './nodes/node.ts'
import { below, checkName } from './nodes/parents.ts'
import type { ProblemListener } from './live/problem.ts'
import { Registration } from './holding/registration.ts'
import { instanceCodec, type ServiceInstance } from './service-instance.ts'

/** The instance to register; all but the name has a default. It is dynamic: deleted with its session. */
export type ServiceOffer<Payload> = Partial<Omit<ServiceInstance<Payload>, 'serviceType'>> & {
  readonly name: string
  readonly serviceType?: 'DYNAMIC' | undefined
}

/** How to choose among several instances; `sticky` stays with one as long as it exists. */
export type Strategy<Payload> =
  | 'roundRobin'
  | 'random'
  | 'sticky'
  | ((instances: readonly ServiceInstance<Payload>[]) => ServiceInstance<Payload> | undefined)

export interface DiscoverOptions<Payload> extends CallOptions {
  /** `roundRobin` by default. */
  readonly strategy?: Strategy<Payload> | undefined
  /** Returns the payload if it is valid, and throws if not. Not called without a payload. */
  readonly check?: ((payload: unknown) => Payload) | undefined
  /** After this many errors an instance is skipped for a while. 2 by default, as in Curator. */
  readonly errorsMax?: number | undefined
  /** How long errors count. 30 s by default. */
  readonly errorsLastMs?: number | undefined
  /** Called for nodes that are no instances. */
  readonly onProblem?: ProblemListener | undefined
}

/** The enabled instances of a service, in the order of their ids. */
export interface Service<Payload> extends Live<readonly ServiceInstance<Payload>[]> {
  readonly name: string
  /**
   * One of them, by the strategy; undefined if there is none.
   *
   *     const instance = search.choose()
   *     console.log(instance?.address ?? 'nobody offers it')
   */
  choose(): ServiceInstance<Payload> | undefined
  /**
   * Waits until there is one.
   *
   *     const { address, port } = await search.chosen({ timeoutMs: 5000 })
   */
  chosen(options?: CallOptions): Promise<ServiceInstance<Payload>>
  /**
   * Reports that an instance failed, so that for a while others are chosen.
   *
   *     const chosen = await search.chosen()
   *     await work(chosen.address).catch(() => search.noteError(chosen))
   */
  noteError(instance: ServiceInstance<Payload>): void
}

const discoverNames: Readonly<Record<keyof DiscoverOptions<unknown>, true>> = {
  ...callNames,
  strategy: true,
  check: true,
  errorsMax: true,
  errorsLastMs: true,
  onProblem: true,
}

/**
 * Services and their instances, in the layout of Curator's discovery: Java programs find the
 * instances at `/base/name/id` too.
 *
 *     const discovery = new ServiceDiscovery(client, '/services')
 *     await using offered = await discovery.register({ name: 'search', address: '10.0.0.1', port: 80 })
 *     await using search = await discovery.discover('search')
 *     const { address, port } = await search.chosen()
 */
export class ServiceDiscovery {
  private readonly client: Client
  private readonly base: string

  constructor(client: Client, base: string) {
    this.client = client.patient
    this.base = checkPath(base)
  }

  /**
   * Offers an instance of a service, in one session after the other, until it is released.
   *
   *     await using offer = await discovery.register({ name: 'search', address: '10.0.0.1', port: 80 })
   */
  register<Payload>(
    offer: ServiceOffer<Payload>,
    options: CallOptions = {},
  ): Promise<Registration<ServiceInstance<Payload>>> {
    const { client, base } = this
    return limited(client, options, async (signal) => {
      const { id = makeGuid(() => client.host.random()), serviceType = 'DYNAMIC' } = offer
      checkName(offer.name, 'a service')
      checkName(id, 'an instance')
      // In Curator, other types outlast their session.
      if (serviceType !== 'DYNAMIC')
        throw new TypeError(`only DYNAMIC services can be registered, not ${String(serviceType)}`)
      const folder = joinPath(base, offer.name)
      const defaults = {
        address: null,
        port: null,
        sslPort: null,
        payload: null,
        uriSpec: null,
        enabled: true,
      } as const
      const registrationTimeUTC =
        offer.registrationTimeUTC ?? (await timeOfServer(client, folder, signal))
      const instance = { ...defaults, ...offer, id, serviceType, registrationTimeUTC }
      const path = joinPath(folder, id)
      const registration = new Registration(client, path, instanceCodec<Payload>(), instance)
      await registration.registered(signal)
      return registration
    })
  }

  /**
   * The enabled instances of a service, kept up to date until this is closed.
   *
   *     await using search = await discovery.discover('search', { strategy: 'random' })
   */
  async discover<Payload = unknown>(
    name: string,
    options: DiscoverOptions<Payload> = {},
  ): Promise<Service<Payload>> {
    checkOptionNames('discover', options, discoverNames)
    checkName(name, 'a service')
    const { client, base } = this
    const { signal, timeoutMs, onProblem } = options
    const group = new Group(client, joinPath(base, name), { codec: instanceCodec(options.check) })
    const members = await group.watch({ signal, timeoutMs, onProblem })
    const instances = mapLive(client, members, (all) =>
      [...all.values()]
        .map(({ data }) => data)
        .filter(({ enabled }) => enabled)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    const errors = new Errors(client, options.errorsMax ?? 2, options.errorsLastMs ?? 30_000)
    const pick = picker(client, options.strategy ?? 'roundRobin')
    const choose = () => pick(errors.without(instances.current))
    return {
      name,
      get current() {
        return instances.current
      },
      signal: instances.signal,
      choose,
      async chosen(limits) {
        let instance: ServiceInstance<Payload> | undefined
        await instances.until(() => (instance = choose()) !== undefined, limits)
        return instance!
      },
      noteError: ({ id }) => errors.note(id),
      onChange: (listener) => instances.onChange(listener),
      values: (limits) => instances.values(limits),
      until: (isSo, limits) => instances.until(isSo, limits),
      [Symbol.asyncIterator]: () => instances[Symbol.asyncIterator](),
      close: () => instances.close(),
      [Symbol.asyncDispose]: () => instances.close(),
    }
  }

  /**
   * The names of all services that have, or lately had, an instance.
   *
   *     console.log(await discovery.list()) // ['search']
   */
  async list(options: ReadOptions = {}): Promise<string[]> {
    try {
      return (await this.client.children(this.base, options)).toSorted()
    } catch (error) {
      if (isRefusal(error, 'noNode')) return []
      throw error
    }
  }
}

/** By the server's clock, which all clients share: touching the folder returns it. */
function timeOfServer(client: Client, folder: string, signal: AbortSignal): Promise<number> {
  return persist(client, signal, async () => {
    const { mtime } = await below(client, folder, { signal }, () =>
      client.set(folder, '', { signal }),
    )
    return Number(mtime)
  })
}

/** Instances that failed recently. */
class Errors {
  private readonly client: Client
  private readonly max: number
  private readonly lastMs: number
  private readonly byId = new Map<string, { count: number; readonly since: number }>()

  constructor(client: Client, max: number, lastMs: number) {
    this.client = client
    this.max = max
    this.lastMs = lastMs
  }

  note(id: string): void {
    const there = this.recent(id)
    if (there !== undefined) there.count++
    else this.byId.set(id, { count: 1, since: this.client.nowMs() })
  }

  /** All of them if none would be left: one that may work is better than none. */
  without<Payload>(
    instances: readonly ServiceInstance<Payload>[],
  ): readonly ServiceInstance<Payload>[] {
    const working = instances.filter(({ id }) => (this.recent(id)?.count ?? 0) < this.max)
    return working.length > 0 ? working : instances
  }

  private recent(id: string): { count: number } | undefined {
    const there = this.byId.get(id)
    if (there === undefined || this.client.nowMs() - there.since < this.lastMs) return there
    this.byId.delete(id)
    return undefined
  }
}

type Pick<Payload> = (
  instances: readonly ServiceInstance<Payload>[],
) => ServiceInstance<Payload> | undefined

function picker<Payload>(client: Client, strategy: Strategy<Payload>): Pick<Payload> {
  if (typeof strategy === 'function') return strategy
  const random: Pick<Payload> = (all) => all[Math.floor(client.host.random() * all.length)]
  if (strategy === 'random') return random
  if (strategy === 'roundRobin') {
    let next = 0
    return (all) => all[next++ % all.length]
  }
  let favourite: string | undefined
  return (all) => {
    const chosen = all.find(({ id }) => id === favourite) ?? random(all)
    favourite = chosen?.id
    return chosen
  }
}
