import {
  addWatchModes,
  encodeText,
  parentOf,
  watcherTypes,
  type Acl,
  type CreateTtlRequest,
} from '@zabra/protocol'
import { openAcl } from './calls/acls.ts'
import {
  checkAcl,
  checkConsistency,
  checkOneOf,
  checkParents,
  checkTimeout,
  checkWatch,
  listed,
  versionOf,
} from './calls/arguments.ts'
import { createRequest } from './calls/create-request.ts'
import { dataBytes, noData } from './calls/data-bytes.ts'
import * as kinds from './calls/kinds.ts'
import {
  callNames,
  checkCreateOptions,
  checkOptionNames,
  checkReadOptions,
  ensureNames,
  findNames,
  noOptions,
  putNames,
  readNames,
  reconfigNames,
  watchNames,
  writeDataNames,
  writeNames,
} from './calls/option-names.ts'
import { json, type Codec } from './codec.ts'
import { createWithParents } from './create-with-parents.ts'
import { isRefusal, uncertain } from './errors.ts'
import { makeGuid } from './guid.ts'
import { inspect } from './hidden.ts'
import type { Host } from './host.ts'
import { LiveSession, type AuthListener, type StateListener } from './live-session.ts'
import { Call, type Kind } from './machine/call.ts'
import type {
  OneShotWatch,
  PersistentWatch,
  WatchEvent,
  WatchKind,
  WatchRegistry,
} from './machine/watch-registry.ts'
import type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  EnsureOptions,
  ParentOptions,
  PutNodeOptions,
  ReadOptions,
  ReconfigOptions,
  WatchableReadOptions,
  WithCodec,
  WithSchema,
  WriteOptions,
} from './options.ts'
import { joinPath, Paths } from './paths.ts'
import { protectedCreate } from './protected-create.ts'
import { readOps, readValues, type ReadQuery, type ReadResults } from './read-all.ts'
import type { ClientStats } from './request-stats.ts'
import { formatZxid, type Stat } from './stat.ts'
import type { ResumableSession, SessionInfo, State } from './state.ts'
import { Transaction } from './transaction.ts'
import { treePortOf, type Issue } from './tree-port.ts'
import { LiveWatching, type Watching, type WatchOptions } from './watching/watching.ts'
import { deleteTree, ensurePath, type TreePort } from './whole-trees.ts'

const configPath = '/zookeeper/config'
interface Namespace {
  readonly namespaces: Map<string, WeakRef<Client>>
  readonly path: string
}

/** A program may use a namespace for each of its users: those it has dropped are forgotten. */
const unused = new FinalizationRegistry<Namespace>(({ namespaces, path }) => {
  if (namespaces.get(path)?.deref() === undefined) namespaces.delete(path)
})

/**
 * A session with a ZooKeeper service. It starts to connect immediately; calls made before it is
 * connected wait.
 *
 * The requests of one client are executed in the order in which they were made, whether the caller
 * awaits them one by one or not.
 *
 *     await using client = new Client({ servers: '127.0.0.1:2181', logger: console })
 *     client.onState((state) => console.log(state.name))
 *     const names = await client.children('/') // waits for the connection
 */
export class Client implements AsyncDisposable {
  readonly host: Host
  private readonly live: LiveSession
  private readonly paths: Paths
  private readonly watches: WatchRegistry
  private readonly isPatient: boolean = false
  private readonly defaultAcl: readonly Acl[]
  private patientTwin: Client | undefined
  /** The namespaces below this one that are in use, by path. */
  private namespaces: Map<string, WeakRef<Client>> | undefined
  /** Watchers that take paths relative to a namespace, by the original function. */
  private readonly ownWatches: WeakMap<OneShotWatch, OneShotWatch> | undefined

  constructor(options: ClientOptions) {
    this.live = new LiveSession(options)
    this.defaultAcl = options.acl ?? openAcl
    this.host = this.live.host
    this.paths = this.live.paths
    this.watches = this.live.watches
    for (const { scheme, credentials } of options.auth ?? []) {
      const bytes = typeof credentials === 'string' ? encodeText(credentials) : credentials
      this.live.authenticate({ scheme, credentials: bytes, isRequired: true }, {}).catch(() => {})
    }
    this.live.start()
  }

  // --- the session -------------------------------------------------------------------------------

  /** The state of this client: connecting, connected, suspended, expired or closed. */
  get state(): State {
    return this.live.state
  }

  /** The current session, connected or suspended. */
  get session(): SessionInfo | undefined {
    return this.live.session
  }

  /** The newest transaction that this client has seen in a reply or event. */
  get lastZxid(): bigint {
    return this.live.lastZxid
  }

  /**
   * This client without default deadlines, for work that must finish however long it takes, such as
   * releasing a lock. Recipes use it; they have their own deadlines.
   */
  get patient(): Client {
    if (this.isPatient) return this
    this.patientTwin ??= this.twin({ isPatient: { value: true } })
    return this.patientTwin
  }

  /**
   * The same session, with paths relative to a namespace, including those in errors and changes.
   * Closing either client closes both.
   *
   *     const users = client.namespace('/app/users')
   *     await users.put('/ann', 'x', { parents: true }) // /app/users/ann
   */
  namespace(path: string): Client {
    const chroot = this.paths.toServer(path)
    if (path === '/') return this
    this.namespaces ??= new Map()
    let child = this.namespaces.get(path)?.deref()
    if (child === undefined) {
      child = this.twin({
        paths: { value: new Paths(chroot) },
        ownWatches: { value: new WeakMap() },
      })
      this.namespaces.set(path, new WeakRef(child))
      unused.register(child, { namespaces: this.namespaces, path })
    }
    return child
  }

  /** A client for the same session that differs in these properties. */
  private twin(differences: PropertyDescriptorMap): Client {
    return Object.create(this, {
      patientTwin: { value: undefined, writable: true },
      namespaces: { value: undefined, writable: true },
      ...differences,
    }) as Client
  }

  /**
   * Statistics of this client: requests and their times, bytes, connections. Collecting them costs
   * nothing noticeable.
   *
   *     const { operations, latency } = client.stats()
   *     console.log(operations['getData']?.count, latency.quantileMs(0.99))
   */
  stats(): ClientStats {
    return this.live.statistics
  }

  /**
   * Without credentials: for logs.
   *
   *     console.log(JSON.stringify(client)) // {"servers":"127.0.0.1:2181","state":"connected",...}
   */
  toJSON(): Readonly<Record<string, string | undefined>> {
    const { session } = this
    const sessionId = session && formatZxid(session.id)
    return { ...this.live.description, chroot: this.chroot, session: sessionId }
  }

  [inspect](): string {
    const facts = Object.entries(this.toJSON()).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [`${name}: '${value}'`],
    )
    return `Client { ${facts.join(', ')} }`
  }

  /** The path prefix of this client; '' is the root. */
  get chroot(): string {
    return this.paths.chroot
  }

  /**
   * The clock of `expiresAtMs` and `aliveUntilMs`: it never goes back.
   *
   *     if (client.state.name === 'suspended') console.log(client.state.expiresAtMs - client.nowMs())
   */
  nowMs(): number {
    return this.host.nowMs()
  }

  /**
   * The time of the last message that the server certainly received, plus the session timeout. A
   * standalone server cannot have expired the session before. In an ensemble, a follower that is
   * cut off from its leader continues to answer for up to syncLimit ticks, and the leader does not
   * hear of that.
   */
  get aliveUntilMs(): number {
    return this.live.aliveUntilMs
  }

  /**
   * Calls back at every change of state, immediately and in order. Returns a function that removes
   * the listener.
   *
   *     const stop = client.onState((state, before) => console.log(`${before.name} -> ${state.name}`))
   */
  onState(listener: StateListener): () => void {
    return this.live.onState(listener)
  }

  /**
   * Calls back when `close` is called, before the server hears of it, so that holders of locks can stop
   * in time. Returns a function that removes the listener.
   *
   *     const stop = client.onClosing(() => stopWriting())
   */
  onClosing(listener: () => void): () => void {
    return this.live.onClosing(listener)
  }

  /**
   * Calls back when a server refuses an identity of `addAuth` that no call waits for any more: the
   * client continues without it, until it is given another. Returns a function that removes the
   * listener.
   *
   *     client.onAuthRefused(({ scheme, server }) => console.warn(`${server} refuses ${scheme}`))
   */
  onAuthRefused(listener: AuthListener): () => void {
    return this.live.onAuthRefused(listener)
  }

  /**
   * Resolves once connected; rejects when the client is closed, or after `connectTimeoutMs`.
   *
   *     await client.connected({ timeoutMs: 5000 })
   */
  connected(options: CallOptions = noOptions): Promise<void> {
    return this.attempt(() => {
      checkOptionNames('connected', options, callNames)
      return this.live.connected(options, !this.isPatient)
    })
  }

  /**
   * Replaces the list of servers, which must belong to the same ensemble. A connection to one of
   * them stays; another is closed, and the session moves to one of these servers. Has no effect on
   * a closed client.
   *
   *     client.setServers('zk-2:2181,zk-3:2181,zk-4:2181')
   */
  setServers(servers: string | readonly string[]): void {
    this.live.setServers(servers)
  }

  /**
   * Ends the session and its ephemeral nodes. Calls made before are still answered.
   *
   *     await client.close() // or: await using client = await connect(servers)
   */
  close(): Promise<void> {
    return this.live.close()
  }

  /**
   * Closes this client without ending its session, so that another client can take it over:
   * ephemeral nodes stay if that connects within the session timeout. Locks and other things held
   * through this client count as lost here. Resolves once earlier requests are answered; to
   * undefined if there is no session.
   *
   *     const session = await client.detach()
   *     const next = await connect(servers, { session })
   */
  async detach(options: CallOptions = noOptions): Promise<ResumableSession | undefined> {
    checkOptionNames('detach', options, callNames)
    const { lastZxid } = this
    const session = await this.live.detach(options)
    if (session === undefined) return undefined
    const { id, password } = session
    return { id, password, lastZxid: this.lastZxid > lastZxid ? this.lastZxid : lastZxid }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Presents an identity on this and every later connection, until a server refuses it
   * (`onAuthRefused`).
   *
   *     await client.addAuth('digest', 'ann:secret')
   */
  addAuth(
    scheme: string,
    credentials: string | Uint8Array,
    options: CallOptions = noOptions,
  ): Promise<void> {
    return this.attempt(() => {
      checkOptionNames('addAuth', options, callNames)
      if (this.live.isClosed) throw this.live.closedError()
      const bytes = typeof credentials === 'string' ? encodeText(credentials) : credentials
      const { signal, timeoutMs = this.callTimeoutMs } = options
      return this.live.authenticate({ scheme, credentials: bytes }, { signal, timeoutMs })
    })
  }

  // --- writes ------------------------------------------------------------------------------------

  /**
   * Creates a node, by default a persistent one. Rejects with `nodeExists` if it exists, and with
   * `noNode` if its parent does not, unless `parents` creates that too. Resolves to its path,
   * including the number if it is sequential.
   *
   *     await client.create('/workers/w-', 'host-1', { ephemeral: true, sequential: true })
   */
  create(path: string, data?: Uint8Array | string, options?: CreateOptions): Promise<kinds.Created>
  create<T>(path: string, value: T, options: CreateOptions & WithCodec<T>): Promise<kinds.Created>
  create(
    path: string,
    value?: unknown,
    options: CreateOptions & { readonly codec?: Codec<unknown> } = noOptions,
  ): Promise<kinds.Created> {
    try {
      checkCreateOptions(options)
      const { parents, protect } = options
      checkParents(parents)
      const data = dataBytes(value, options.codec, path)
      if (protect === true) return this.createProtected(path, data, options)
      if (parents !== undefined && parents !== false)
        return this.createBelow(path, data, options, parents)
      return this.issue(this.createCall(path, data, options), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Rejects with `noNode` if the node does not exist, and with `notEmpty` if it has children.
   *
   *     await client.delete('/jobs/17', { ifVersion: stat.version })
   */
  delete(path: string, options: WriteOptions = noOptions): Promise<void> {
    try {
      checkOptionNames('delete', options, writeNames)
      const request = { path: this.paths.toServer(path), version: versionOf(options) }
      return this.issue(new Call(kinds.remove, request, path), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Replaces the data of a node. With `ifVersion`, rejects with `badVersion` if somebody has
   * changed the data since that version.
   *
   *     await client.set('/settings', 'limit=3', { ifVersion: stat.version })
   */
  set(path: string, data: Uint8Array | string, options?: WriteOptions): Promise<Stat>
  set<T>(path: string, value: T, options: WriteOptions & WithCodec<T>): Promise<Stat>
  set(
    path: string,
    value: unknown,
    options: WriteOptions & { readonly codec?: Codec<unknown> } = noOptions,
  ): Promise<Stat> {
    try {
      checkOptionNames('set', options, writeDataNames)
      const data = dataBytes(value, options.codec, path)
      const request = { path: this.paths.toServer(path), data, version: versionOf(options) }
      return this.issue(new Call(kinds.setData, request, path), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Sets the data of a node, and creates it if it does not exist; resolves to its stat.
   *
   *     await client.put('/settings', { limit: 3 }, { codec: json(), parents: true })
   */
  put(path: string, data: Uint8Array | string, options?: PutNodeOptions): Promise<Stat>
  put<T>(path: string, value: T, options: PutNodeOptions & WithCodec<T>): Promise<Stat>
  put(
    path: string,
    value: unknown,
    options: PutNodeOptions & { readonly codec?: Codec<unknown> } = noOptions,
  ): Promise<Stat> {
    return this.attempt(() => {
      checkOptionNames('put', options, putNames)
      checkParents(options.parents)
      return this.putData(path, dataBytes(value, options.codec, path) ?? noData, options)
    })
  }

  /**
   * Sets the data of a node to a value as JSON, validated by the schema if there is one.
   *
   *     await client.setJson('/settings', { limit: 3 })
   */
  setJson<T>(
    path: string,
    value: T,
    options: WriteOptions & WithSchema<T> = noOptions,
  ): Promise<Stat> {
    const { schema, ...rest } = options
    return this.set(path, value, { ...rest, codec: json(schema) })
  }

  /**
   * `ifVersion` is compared with the version of the ACL, `aversion`.
   *
   *     await client.setAcl('/private', acl.digest('ann', 'secret', 'cdrw'))
   */
  setAcl(path: string, acl: readonly Acl[], options: WriteOptions = noOptions): Promise<Stat> {
    return this.attempt(() => {
      checkOptionNames('setAcl', options, writeNames)
      checkAcl(acl)
      const request = { path: this.paths.toServer(path), acl, version: versionOf(options) }
      return this.issue(new Call(kinds.setAcl, request, path), options)
    })
  }

  /**
   * Several operations that succeed or fail together.
   *
   *     await client.transaction().check('/leader').set('/report', 'done').commit()
   */
  transaction(): Transaction {
    return new Transaction(this.paths, this.defaultAcl, (ops, options) =>
      this.issue(new Call(kinds.multi, ops), options),
    )
  }

  // --- reads -------------------------------------------------------------------------------------

  /**
   * The data of a node. Rejects with `noNode` if it does not exist.
   *
   *     const { data, stat } = await client.get('/settings', { codec: json<Settings>() })
   */
  get(path: string, options?: WatchableReadOptions): Promise<kinds.Data>
  get<T>(path: string, options: WatchableReadOptions & WithCodec<T>): Promise<kinds.Data<T>>
  get(
    path: string,
    options: WatchableReadOptions & { readonly codec?: Codec<unknown> } = noOptions,
  ): Promise<kinds.Data<unknown>> {
    return this.readWatched(kinds.getData, path, options, 'data', options.codec)
  }

  /**
   * Like `get`, but undefined if the node does not exist. To watch for such a node, use `exists` or
   * `watch`.
   *
   *     const found = await client.find('/settings', { codec: text })
   */
  find(path: string, options?: ReadOptions): Promise<kinds.Data | undefined>
  find<T>(path: string, options: ReadOptions & WithCodec<T>): Promise<kinds.Data<T> | undefined>
  find(
    path: string,
    options: ReadOptions & { readonly codec?: Codec<unknown> } = noOptions,
  ): Promise<kinds.Data<unknown> | undefined> {
    return this.attempt(() => {
      checkOptionNames('find', options, findNames)
      return this.readWatched(kinds.findData, path, options, 'data', options.codec)
    })
  }

  /**
   * Like `get`, for a node that contains JSON; validated by the schema if there is one.
   *
   *     const { data } = await client.getJson<Settings>('/settings')
   */
  getJson<T = unknown>(
    path: string,
    options: ReadOptions & WithSchema<T> = noOptions,
  ): Promise<kinds.Data<T>> {
    const { schema, ...rest } = options
    return this.get(path, { ...rest, codec: json<T>(schema) })
  }

  /**
   * Undefined if the node does not exist; the watch is set in either case.
   *
   *     const stat = await client.exists('/settings')
   *     console.log(stat?.version ?? 'does not exist')
   */
  exists(path: string, options: WatchableReadOptions = noOptions): Promise<Stat | undefined> {
    return this.readWatched(kinds.exists, path, options, 'data')
  }

  /**
   * The names of the children, in no particular order.
   *
   *     for (const name of await client.children('/workers')) console.log(name)
   */
  children(path: string, options: WatchableReadOptions = noOptions): Promise<string[]> {
    return this.readWatched(kinds.getChildren, path, options, 'child')
  }

  /**
   * The same, with the stat of the node itself.
   *
   *     const { children, stat } = await client.childrenWithStat('/workers')
   *     console.log(children.length, stat.cversion)
   */
  childrenWithStat(
    path: string,
    options: WatchableReadOptions = noOptions,
  ): Promise<kinds.Children> {
    return this.readWatched(kinds.getChildrenWithStat, path, options, 'child')
  }

  /**
   * The ACL of a node; password hashes are hidden from clients that may not change it.
   *
   *     const { acl, stat } = await client.getAcl('/private')
   *     await client.setAcl('/private', [...acl, ...more], { ifVersion: stat.aversion })
   */
  getAcl(path: string, options: ReadOptions = noOptions): Promise<kinds.AclAndStat> {
    return this.read(kinds.getAcl, (serverPath) => ({ path: serverPath }), path, options)
  }

  /**
   * The number of nodes below this one, at any depth.
   *
   *     console.log(await client.countDescendants('/app'))
   */
  countDescendants(path: string, options: ReadOptions = noOptions): Promise<number> {
    return this.read(kinds.countDescendants, (serverPath) => ({ path: serverPath }), path, options)
  }

  /**
   * The ephemeral nodes of this session whose path begins with a prefix.
   *
   *     console.log(await client.ephemerals('/workers'))
   */
  ephemerals(prefix = '/', options: ReadOptions = noOptions): Promise<string[]> {
    return this.attempt(() => {
      checkOptionNames('ephemerals', options, readNames)
      const call = new Call(kinds.getEphemerals, { prefixPath: this.paths.chroot + prefix }, prefix)
      call.context = this.paths.fromServer
      return this.issueRead(call, options)
    })
  }

  /**
   * Several reads in one request, answered together by one server; without codecs and watches.
   *
   *     const [settings, workers] = await client.readAll([{ get: '/settings' }, { children: '/workers' }])
   *     console.log(settings?.stat.version, workers?.length)
   */
  readAll<const Queries extends readonly ReadQuery[]>(
    queries: Queries,
    options: ReadOptions = noOptions,
  ): Promise<ReadResults<Queries>> {
    return this.attempt(async () => {
      checkOptionNames('readAll', options, readNames)
      const call = new Call(kinds.multiRead, readOps(queries, this.paths))
      return readValues(queries, await this.issueRead(call, options))
    })
  }

  /**
   * Waits until this server has applied everything that was committed when the call was made.
   *
   *     await client.sync()
   *     const { data } = await client.get('/settings')
   */
  sync(path = '/', options: CallOptions = noOptions): Promise<void> {
    return this.attempt(() => {
      checkOptionNames('sync', options, callNames)
      return this.issue(new Call(kinds.sync, { path: this.paths.toServer(path) }, path), options)
    })
  }

  /**
   * The identities of this connection on the server.
   *
   *     for (const { scheme, user } of await client.whoAmI()) console.log(scheme, user)
   */
  whoAmI(options: CallOptions = noOptions): Promise<kinds.Identity[]> {
    return this.attempt(() => {
      checkOptionNames('whoAmI', options, callNames)
      return this.issue(new Call(kinds.whoAmI, {}), options)
    })
  }

  // --- members of the ensemble -------------------------------------------------------------------

  /**
   * The ensemble's configuration, as text in the data. The chroot does not apply here.
   *
   *     const { data } = await client.getConfig()
   *     console.log(new TextDecoder().decode(data)) // server.1=...
   */
  getConfig(options: WatchableReadOptions = noOptions): Promise<kinds.Data> {
    return this.attempt(() => {
      checkReadOptions(options, false)
      const { watch } = options
      checkWatch(watch)
      const request = { path: configPath, watch: watch !== undefined }
      const call = new Call(kinds.getData, request, configPath)
      call.watch = watch
      call.watchPath = configPath
      return this.issueRead(call, options) as Promise<kinds.Data>
    })
  }

  /**
   * Changes the members; resolves to the new configuration. The servers must allow it.
   *
   *     await client.reconfig({ joining: 'server.4=zk-4:2888:3888;2181', leaving: '1' })
   */
  reconfig(options: ReconfigOptions): Promise<kinds.Data> {
    return this.attempt(() => {
      checkOptionNames('reconfig', options, reconfigNames)
      const { joining, leaving, newMembers, ifVersion } = options
      const request = {
        joiningServers: listed(joining),
        leavingServers: listed(leaving),
        newMembers: listed(newMembers),
        curConfigId: ifVersion ?? -1n,
      }
      return this.issue(new Call(kinds.reconfig, request), options)
    })
  }

  // --- watches -----------------------------------------------------------------------------------

  /**
   * Every change from now on, as an async iteration that survives reconnections.
   *
   *     for await (const { type, path } of client.watch('/app', { recursive: true })) {
   *       console.log(type, path)
   *     }
   */
  watch(path: string, options: WatchOptions = noOptions): Watching {
    const serverPath = this.paths.toServer(path)
    const { patient } = this
    checkOptionNames('watch', options, watchNames)
    let own: PersistentWatch | undefined
    const below = (watch: PersistentWatch): PersistentWatch =>
      (own ??= this.ownWatches === undefined ? watch : this.persistentBelow(watch))
    const port = {
      add: (watch: PersistentWatch) => patient.addPersistent(serverPath, below(watch)),
      remove: (watch: PersistentWatch) => patient.removePersistent(serverPath, below(watch)),
      exists: (at: string) => patient.exists(at),
      children: (at: string) => patient.childrenWithStat(at),
    }
    return new LiveWatching(port, path, options)
  }

  /**
   * Whether the server has such a watch of this connection.
   *
   *     console.log(await client.checkWatches('/app'))
   */
  async checkWatches(
    path: string,
    type: keyof typeof watcherTypes = 'any',
    options: CallOptions = noOptions,
  ): Promise<boolean> {
    checkOptionNames('checkWatches', options, callNames)
    checkOneOf('type', type, Object.keys(watcherTypes))
    const request = { path: this.paths.toServer(path), type: watcherTypes[type] }
    try {
      await this.issue(new Call(kinds.checkWatches, request, path), options)
      return true
    } catch (error) {
      if (isRefusal(error, 'noWatcher')) return false
      throw error
    }
  }

  /**
   * Removes one-shot watches; their functions are not called any more.
   *
   *     await client.removeWatches('/app', 'data')
   */
  async removeWatches(
    path: string,
    type: 'data' | 'children' | 'any' = 'any',
    options: CallOptions = noOptions,
  ): Promise<void> {
    checkOptionNames('removeWatches', options, callNames)
    checkOneOf('type', type, ['data', 'children', 'any'])
    const serverPath = this.paths.toServer(path)
    if (type !== 'children') {
      this.watches.remove('data', serverPath)
      this.watches.remove('exist', serverPath)
    }
    if (type !== 'data') this.watches.remove('child', serverPath)
    // `any` would remove persistent watches too.
    const types = type === 'any' ? (['data', 'children'] as const) : [type]
    await Promise.all(types.map((one) => this.forget(serverPath, one, options)))
  }

  // --- more than one request ---------------------------------------------------------------------

  /**
   * Creates the node and its parents, if they do not exist. It also creates the chroot.
   *
   *     await client.ensure('/app/workers', { container: true })
   */
  ensure(path: string, options: EnsureOptions = noOptions): Promise<void> {
    return this.inSteps(options, (port) => {
      checkOptionNames('ensure', options, ensureNames)
      return ensurePath(port, this.paths.toServer(path))
    })
  }

  /**
   * Deletes the node and everything below it; succeeds if it does not exist.
   *
   *     await client.deleteTree('/app/old')
   */
  deleteTree(path: string, options: CallOptions = noOptions): Promise<void> {
    return this.inSteps(options, (port) => {
      checkOptionNames('deleteTree', options, callNames)
      return deleteTree(port, this.paths.toServer(path))
    })
  }

  // --- internals ---------------------------------------------------------------------------------

  /**
   * Turns errors that are thrown before anything is sent into rejections. The calls that programs make
   * most catch them on the spot: the function would cost a thirtieth of such a call.
   */
  private attempt<T>(act: () => Promise<T>): Promise<T> {
    try {
      return act()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** The default deadline for calls of this object. */
  private get callTimeoutMs(): number | undefined {
    return this.isPatient ? undefined : this.live.callTimeoutMs
  }

  private issue<Request, Result>(
    call: Call<Request, Result>,
    options: CallOptions | undefined,
  ): Promise<Result> {
    try {
      return this.live.issue(call, options?.signal, options?.timeoutMs, !this.isPatient)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  private issueRead<Request, Result>(
    call: Call<Request, Result>,
    options: ReadOptions,
  ): Promise<Result> {
    try {
      const { consistency } = options
      checkConsistency(consistency)
      if (consistency === 'linearizable') call.sync = 'always'
      else if (consistency === 'session') call.sync = 'ifUncertain'
      return this.issue(call, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  private read<Request, Result>(
    kind: Kind<Request, Result>,
    requestOf: (serverPath: string) => Request,
    path: string,
    options: ReadOptions,
  ): Promise<Result> {
    return this.attempt(() => {
      checkOptionNames('a read', options, readNames)
      return this.issueRead(new Call(kind, requestOf(this.paths.toServer(path)), path), options)
    })
  }

  private readWatched<Result>(
    kind: Kind<{ path: string | null; watch: boolean }, Result>,
    path: string,
    options: WatchableReadOptions,
    watchKind: WatchKind,
    context?: unknown,
  ): Promise<Result> {
    try {
      const serverPath = this.paths.toServer(path)
      checkReadOptions(options, kind.code === kinds.getData.code)
      const { watch } = options
      checkWatch(watch)
      const call = new Call(kind, { path: serverPath, watch: watch !== undefined }, path)
      call.context = context
      if (watch !== undefined) {
        call.watch = this.ownWatches === undefined ? watch : this.watchBelow(watch, this.ownWatches)
        call.watchKind = watchKind
        call.watchPath = serverPath
      }
      return this.issueRead(call, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Registering the same function twice makes one watch. */
  private watchBelow(
    watch: OneShotWatch,
    known: WeakMap<OneShotWatch, OneShotWatch>,
  ): OneShotWatch {
    let own = known.get(watch)
    if (own === undefined) known.set(watch, (own = (event) => watch(this.eventBelow(event))))
    return own
  }

  private persistentBelow(watch: PersistentWatch): PersistentWatch {
    return {
      path: watch.path,
      recursive: watch.recursive,
      event: (event) => watch.event(this.eventBelow(event)),
      resumed: () => watch.resumed(),
      lost: (reason) => watch.lost(reason),
    }
  }

  /** The session uses paths relative to its own chroot. */
  private eventBelow(event: WatchEvent): WatchEvent {
    const path = this.paths.fromServer(joinPath(this.live.paths.chroot, event.path))
    return path === undefined ? event : { ...event, path }
  }

  private async putData(
    path: string,
    data: Uint8Array,
    { acl, parents, ...limits }: PutNodeOptions,
  ): Promise<Stat> {
    const { signal, timeoutMs } = limits
    const left = this.limitsOf({ signal, timeoutMs })
    for (;;) {
      try {
        return await this.set(path, data, left())
      } catch (error) {
        if (!isRefusal(error, 'noNode')) throw error
      }
      try {
        const { stat } = await this.create(path, data, { acl, parents, ...left() })
        return stat
      } catch (error) {
        if (!isRefusal(error, 'nodeExists')) throw error
      }
    }
  }

  private createCall(
    path: string,
    data: Uint8Array | null,
    options: CreateOptions,
  ): Call<CreateTtlRequest, kinds.Created> {
    const { kind, request } = createRequest(this.paths, path, data, options, this.defaultAcl)
    const call = new Call(kind as Kind<typeof request, kinds.Created>, request, path)
    call.context = this.paths.fromServer
    return call
  }

  private createBelow(
    path: string,
    data: Uint8Array | null,
    options: CreateOptions,
    parents: true | ParentOptions,
  ): Promise<kinds.Created> {
    const limits = this.limitsOf(options)
    return createWithParents(
      () => this.issue(this.createCall(path, data, options), limits()),
      () => this.parentOnServer(path, options),
      this.treePort(parents === true ? {} : parents, limits),
    )
  }

  /** The path on the server; it may be the chroot or an ancestor of it. */
  private parentOnServer(path: string, { sequential = false }: CreateOptions): string {
    const own = sequential ? this.paths.toServerSequential(path) : this.paths.toServer(path)
    return own.endsWith('/') ? own.slice(0, -1) || '/' : parentOf(own)
  }

  private createProtected(
    path: string,
    data: Uint8Array | null,
    options: CreateOptions,
  ): Promise<kinds.Created> {
    // The deadline ends the waiting; the create continues in the background until its outcome is
    // known.
    const { patient } = this
    const { parents = false } = options
    const givenUp = new AbortController()
    let isMakingParents = false
    let creating: Call<CreateTtlRequest, kinds.Created> | undefined
    const create = (at: string): Promise<kinds.Created> => {
      if (isMakingParents) givenUp.signal.throwIfAborted()
      isMakingParents = false
      creating = this.createCall(at, data, options)
      return patient.issue(creating, {})
    }
    const port = {
      create: (at: string) => {
        if (parents === false) return create(at)
        const parentOnServer = (): string => {
          isMakingParents = true
          return this.parentOnServer(at, options)
        }
        const limits = (): CallOptions => ({ signal: givenUp.signal })
        const tree = patient.treePort(parents === true ? {} : parents, limits)
        return createWithParents(() => create(at), parentOnServer, tree)
      },
      withdraw: (reason: unknown) => {
        givenUp.abort(reason)
        if (isMakingParents) return true
        if (creating === undefined || creating.wasSent || creating.isDone) return false
        creating.fail(reason)
        return true
      },
      children: (at: string) => patient.children(at, { consistency: 'session' }),
      exists: (at: string) => patient.exists(at),
      delete: (at: string) => patient.delete(at),
      expiries: () => this.live.expiries,
      isClosed: () => this.live.isClosed,
    }
    const timeoutMs = options.timeoutMs ?? this.callTimeoutMs
    const guid = makeGuid(() => this.host.random())
    const { signal } = options
    return protectedCreate(port, path, guid, { signal, timeoutMs }, this.host)
  }

  private async addPersistent(serverPath: string, watch: PersistentWatch): Promise<void> {
    if (this.live.isClosed) throw this.live.closedError()
    this.watches.addPersistent(serverPath, watch)
    const mode = watch.recursive ? addWatchModes.persistentRecursive : addWatchModes.persistent
    await this.issue(new Call(kinds.addWatch, { path: serverPath, mode }, watch.path), {})
    // The iteration ended before there was a connection; the watch was set nevertheless.
    if (!this.watches.hasPersistent(serverPath, watch)) this.forgetPersistent(serverPath, watch)
  }

  private removePersistent(serverPath: string, watch: PersistentWatch): void {
    const isLast = this.watches.removePersistent(serverPath, watch)
    if (isLast) this.forgetPersistent(serverPath, watch)
  }

  private forgetPersistent(serverPath: string, watch: PersistentWatch): void {
    if (this.state.name !== 'connected' || this.live.isClosed) return
    const type = watch.recursive ? 'persistentRecursive' : 'persistent'
    void this.forget(serverPath, type, {}).catch(() => {})
  }

  /** Removes a watch on the server; succeeds if the server has none. */
  private async forget(
    serverPath: string,
    type: keyof typeof watcherTypes,
    options: CallOptions,
  ): Promise<void> {
    const request = { path: serverPath, type: watcherTypes[type] }
    try {
      await this.issue(
        new Call(kinds.removeWatches, request, this.paths.fromServer(serverPath)),
        options,
      )
    } catch (error) {
      if (isRefusal(error, 'noWatcher')) return
      // Releases before 3.9 only know `any`, which is safe if nothing else is watched there.
      const isOld = isRefusal(error, 'marshallingError') && type !== 'any'
      if (!isOld) throw error
      if (!this.live.watchesAnything(serverPath)) await this.forget(serverPath, 'any', options)
    }
  }

  /** An error in the middle of several steps may leave some of them done. */
  private async inSteps(
    options: EnsureOptions,
    act: (port: TreePort) => Promise<void>,
  ): Promise<void> {
    let hasWritten = false
    try {
      await act(this.treePort(options, this.limitsOf(options), () => (hasWritten = true)))
    } catch (error) {
      // The reason of a signal belongs to the caller.
      throw hasWritten && error !== options.signal?.reason ? uncertain(error) : error
    }
  }

  /** Shares the deadline of one call between consecutive requests. */
  private limitsOf({ signal, timeoutMs = this.callTimeoutMs }: CallOptions): () => CallOptions {
    checkTimeout(timeoutMs)
    const deadlineMs = timeoutMs === undefined ? undefined : this.nowMs() + timeoutMs
    return () => ({
      signal,
      timeoutMs: deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - this.nowMs()),
    })
  }

  /** What `ensure` and `deleteTree` need, under these limits. */
  private treePort(
    { container, acl = this.defaultAcl }: ParentOptions,
    limits: () => CallOptions,
    onWrite?: () => void,
  ): TreePort {
    const issue: Issue = (call) => this.issue(call, limits())
    if (acl !== this.defaultAcl) checkAcl(acl)
    return treePortOf(issue, this.paths, { container, acl }, onWrite)
  }
}
