/**
 * The names that examples in doc comments assume: a client, something held, and the reader's own work.
 * Each is made when an example uses its name, on a server of the test.
 */
import {
  acl,
  bytes,
  ClosedError,
  CodecError,
  ConnectionLossError,
  json,
  OperationError,
  SessionExpiredError,
  text,
  TimeoutError,
  TransactionError,
  type Client,
} from '@zabra/client'
import type { MeterLike, TracerLike } from '@zabra/client/opentelemetry'
import {
  AtomicValue,
  Barrier,
  Configuration,
  Counter,
  DelayQueue,
  DoubleBarrier,
  Election,
  Group,
  IdQueue,
  Lease,
  Lock,
  LostError,
  MultiLock,
  NameService,
  Party,
  PersistentTtlNode,
  PriorityQueue,
  Queue,
  RefusedError,
  Rendezvous,
  RevocableLock,
  Semaphore,
  ServiceDiscovery,
  SetPartitioner,
  SimpleLock,
  TreeCache,
  TwoPhaseCommit,
  type Held,
} from '@zabra/recipes'
import { LeaderCoordinator } from '@zabra/recipes/schedulers'
import { WaitTimeoutError, type Ensemble, type FaultProxy, type Scenario } from '@zabra/testing'

/** The names that the test provides for one example. */
export interface Given {
  readonly client: Client
  /** Another client of the same tree, for other programs. */
  readonly other: Client
  /** With the chroot of this example. */
  readonly servers: string
  /** The proxy between the client and the server. */
  readonly proxy: FaultProxy
  readonly ensemble: () => Promise<Ensemble>
  /** The error of examples that branch on this class. */
  readonly errorOf: string
  /** Aborts the signals of the example. */
  readonly interruption: AbortController
}

interface Reminder {
  readonly to: string
}
interface Mail {
  readonly subject: string
}
interface Transfer {
  readonly amount: number
}

const path = '/locks/of-the-example'
const offer = { name: 'search', id: '17', address: '10.0.0.1', port: 8080 }
const errors: Readonly<Record<string, () => Error>> = {
  ClosedError: () => new ClosedError(),
  CodecError: () => new CodecError('not JSON'),
  ConnectionLossError: () => new ConnectionLossError(false),
  LostError: () => new LostError('deleted', path),
  RefusedError: () => new RefusedError(path),
  SessionExpiredError: () => new SessionExpiredError(false),
  TimeoutError: () => new TimeoutError(5, false),
  TransactionError: () => new TransactionError(0, 'noNode', {}),
  WaitTimeoutError: () => new WaitTimeoutError('not within 5 ms'),
}

/** Stands for the class of another package. */
class CronJob {
  readonly time: string
  readonly job: () => unknown

  constructor(time: string, job: () => unknown) {
    this.time = time
    this.job = job
  }
}

const done = (): Promise<void> => Promise.resolve()
const files = new Map<string, string>()
const noSpan = {
  setAttribute: () => {},
  setStatus: () => {},
  recordException: () => {},
  end: () => {},
}

/** How each name is made. */
export const makers = {
  client: ({ client }: Given) => client,
  servers: ({ servers }: Given) => servers,
  proxy: ({ proxy }: Given) => proxy,
  error: ({ errorOf }: Given): unknown => errors[errorOf]?.() ?? new OperationError('noNode'),
  signal: ({ interruption }: Given) => interruption.signal,
  shuttingDown: ({ interruption }: Given) => interruption.signal,
  stat: async ({ client }: Given) => (await client.exists('/settings'))!,
  more: () => acl.world('r'),
  id: () => '17',
  trace: (): { getTracer(name: string): TracerLike } => ({
    getTracer: () => ({ startSpan: () => noSpan }),
  }),
  metrics: (): { getMeter(name: string): MeterLike } => ({
    getMeter: () => ({
      createHistogram: () => ({ record: () => {} }),
      createCounter: () => ({ add: () => {} }),
    }),
  }),

  lock: ({ client }: Given) => new Lock(client, '/locks/free'),
  held: ({ client }: Given): Promise<Held> => new Lock(client, path).acquire(),
  pathOfTheLock: async ({ client }: Given) => (await new Lock(client, path).acquire()).path,
  permit: ({ client }: Given): Promise<Held> => new Semaphore(client, '/permits', 3).acquire(),
  accounts: ({ client }: Given) => new MultiLock(client, ['/accounts/ann', '/accounts/bob']),
  computation: ({ client }: Given) => new DoubleBarrier(client, '/computation-of-one', 1),
  crawlers: ({ client }: Given) => new SetPartitioner(client, '/crawlers', ['a-m', 'n-z']),
  downloads: ({ client }: Given) => new Semaphore(client, '/downloads', 3),
  election: ({ client }: Given) => new Election(client, '/scheduler'),
  lease: ({ client }: Given) => new Lease(client, '/leases/batch', { id: 'a', ttlMs: 30_000 }),
  nightly: ({ client }: Given) => new SimpleLock(client, '/locks/nightly'),
  printer: ({ client }: Given) => new RevocableLock(client, '/locks/printer'),
  barrier: ({ client }: Given) => new Barrier(client, '/maintenance'),
  coordinator: ({ client }: Given) => LeaderCoordinator.open(client, '/cron'),

  queue: async ({ client }: Given) => {
    const queue = new Queue(client, '/images', { codec: text })
    await queue.put('resize image 17')
    return queue
  },
  job: async ({ client }: Given) => {
    const queue = new Queue(client, '/images', { codec: text })
    await queue.put('resize image 17')
    return queue.take()
  },
  mails: ({ client }: Given) => new IdQueue(client, '/mails', { codec: json<Mail>() }),
  mail: (): Mail => ({ subject: 'your order' }),
  reminders: ({ client }: Given) =>
    new DelayQueue(client, '/reminders', { codec: json<Reminder>() }),
  urgent: ({ client }: Given) => new PriorityQueue(client, '/urgent', { codec: text }),

  seats: ({ client }: Given) =>
    new AtomicValue(client, '/seats', { codec: json<string[]>(), initial: [] }),
  counter: ({ client }: Given) => new Counter(client, '/orders/count'),
  orders: async ({ client }: Given) => {
    const counter = new Counter(client, '/orders/count')
    await counter.set(100)
    return counter.live()
  },
  limits: ({ client }: Given) => {
    const codec = json<{ rate: number }>()
    return Configuration.open(client, '/limits', { codec, fallback: { rate: 5 } })
  },
  cache: ({ client }: Given) => TreeCache.open(client, '/app'),

  group: ({ client }: Given) => new Group(client, '/crew', { codec: json<{ port: number }>() }),
  member: ({ client }: Given) =>
    new Group(client, '/crew', { codec: json<{ port: number }>() }).join({ port: 80 }),
  party: ({ client }: Given) => new Party(client, '/party'),
  batch: ({ client }: Given) =>
    PersistentTtlNode.open(client, '/status/batch', 'runs', { codec: text, ttlMs: 60_000 }),
  names: async ({ client }: Given) => {
    const names = new NameService(client, '/names', { codec: json<{ host: string }>() })
    await names.bind('orders', { host: 'db-1' })
    await names.bind('databases/orders', { host: 'db-1' })
    return names
  },
  rendezvous: async ({ client }: Given) => {
    const place = await Rendezvous.open(client, '/places')
    const rendezvous = new Rendezvous(client, place.path, { codec: text })
    await rendezvous.announce('10.0.0.1:7000')
    return rendezvous
  },
  discovery: ({ client }: Given) => new ServiceDiscovery(client, '/services'),
  search: ({ client }: Given) => new ServiceDiscovery(client, '/services').discover('search'),
  instance: async ({ client }: Given) => {
    const search = await new ServiceDiscovery(client, '/services').discover('search')
    return search.chosen()
  },

  transfers: ({ client }: Given) =>
    new TwoPhaseCommit(client, '/transfers/16', { codec: json<Transfer>() }),
  /** Proposed, decided, and carried out. */
  proposed: ({ client }: Given) => proposed(client, '/transfers/16'),
  site: async ({ client }: Given) => {
    const transfers = new TwoPhaseCommit(client, '/transfers/15', { codec: json<Transfer>() })
    await transfers.propose({ amount: 50 }, { sites: ['paris'] })
    const site = await transfers.join('paris')
    return site
  },

  ensemble: ({ ensemble }: Given) => ensemble(),
  server: async ({ ensemble }: Given) => (await ensemble()).server(1),
  scenario:
    () =>
    ({ program }: Scenario): void => {
      program(1, ({ client }) => client.connected())
    },

  readFile: () => (name: string, _encoding: 'utf8') => {
    const content = files.get(name)
    return content === undefined ? Promise.reject(new Error('no file')) : Promise.resolve(content)
  },
  writeFile: () => (name: string, content: string, _options: object) => {
    files.set(name, content)
    return done()
  },
  limiter: (): { setRate(rate: number): void } => ({ setRate: () => {} }),
  registry: (): { addCronJob(name: string, job: object): void } => ({ addCronJob: () => {} }),
  CronJob: () => CronJob,
  Cron:
    () =>
    (_time: string): MethodDecorator =>
    () => {},
  /** Each is the last: then the program shuts down. */
  nextStep:
    ({ client, interruption }: Given) =>
    () => {
      interruption.abort()
      return client.transaction().set('/report', 'done')
    },
  crawl:
    ({ interruption }: Given) =>
    (_items: readonly string[], _signal: AbortSignal) => {
      interruption.abort()
      return done()
    },
  schedule: (): ((...args: readonly unknown[]) => Promise<void>) => done,
  again: () => done,
  stopWriting: () => () => {},
  backUp: () => done,
  work: (): ((...args: readonly unknown[]) => Promise<void>) => done,
  compute: () => done,
  print: (): ((options: { signal: AbortSignal }) => Promise<void>) => done,
  download: (): ((options: { signal: AbortSignal }) => Promise<void>) => done,
  transfer: (): ((held: Held) => Promise<void>) => done,
  canCarryOut: (): ((transfer: Transfer) => boolean) => () => true,
}

export type World = {
  readonly [Name in keyof typeof makers]: Awaited<ReturnType<(typeof makers)[Name]>>
}

async function proposed(client: Client, at: string) {
  const transfers = new TwoPhaseCommit(client, at, { codec: json<Transfer>() })
  const proposal = await transfers.propose({ amount: 50 }, { sites: ['paris', 'oslo'] })
  const sites = await Promise.all(['paris', 'oslo'].map((name) => transfers.join(name)))
  for (const site of sites) await site.vote('commit')
  for (const site of sites) await site.acknowledge(await site.decision())
  return proposal
}

/** The tree that every example begins with. */
export async function plant(client: Client): Promise<void> {
  const nodes: Readonly<Record<string, string>> = {
    '/settings': '{"limit":3}',
    '/greeting': 'hello',
    '/report': '',
    '/leader': '',
    '/private': '',
    '/stock': '40',
    '/stock/apples': '40',
    '/workers/a': '',
    '/workers/b': '',
    '/workers/c': '',
    '/jobs/17': '',
    '/done': '',
    '/results': '',
    '/orders': '',
    '/cache/a': '',
    '/app/old/a': '',
    '/b': '',
  }
  for (const [at, data] of Object.entries(nodes)) await client.create(at, data, { parents: true })
  await client.create('/marker', bytes.decode(new Uint8Array(0)))
  await new ServiceDiscovery(client, '/services').register({ ...offer, payload: { zone: 'a' } })
}

/** What others have done before an example runs. */
export const beforehand: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
  'TwoPhaseCommit.resume': ({ other }) => proposed(other, '/transfers/16'),
  'TwoPhaseCommit.join': ({ other }) => proposed(other, '/transfers/16'),
}

/** What others do while an example runs: without it, the example would wait for ever. */
export const meanwhile: Readonly<Record<string, (given: Given, world: Partial<World>) => unknown>> =
  {
    Barrier: async ({ other }) => {
      const barrier = new Barrier(other, '/maintenance')
      while (!(await barrier.isUp())) await other.sync()
      await barrier.lower()
    },
    DoubleBarrier: ({ other }) =>
      Promise.all(
        ['ann', 'bob'].map(async (name) => {
          const inside = await new DoubleBarrier(other, '/computation', 3, { id: name }).enter()
          await inside.leave()
        }),
      ),
    TwoPhaseCommit: async ({ other }) => {
      const transfers = new TwoPhaseCommit(other, '/transfers/17', { codec: json<Transfer>() })
      while ((await other.exists('/transfers/17/sites/oslo')) === undefined) await other.sync()
      await (await transfers.join('oslo')).vote('commit')
    },
    'CommitSite.decision': (_, { site }) => site?.vote('commit'),
    'CommitSite.acknowledge': (_, { site }) => site?.vote('commit'),
    aborted: (_, { held }) => held?.release(),
    untilState: ({ proxy }) => proxy.cut(),
    'FaultProxy.bytes': ({ client }) => client.exists('/'),
  }

/** Those that go on until the program ends. */
export const endless: ReadonlySet<string> = new Set([
  'Client.watch',
  'packages/client/src/index.ts',
  'Queue',
  'PriorityQueue',
  'ItemQueue.items',
  'Configuration.values',
  'TreeCache.changes',
  'Live.values',
  'Election.leaders',
])

/** Those that this server refuses, and how. */
export const refused: Readonly<Record<string, string>> = { 'Client.reconfig': 'reconfigDisabled' }
