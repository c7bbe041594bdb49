import { parentPath, type CallOptions, type Client, type Watching } from '@zabra/client'
import { callNames, checkOptionNames, Listeners, onAbort } from '@zabra/client/internal'
import { Feed } from './live/feed.ts'
import { limited, orAborted } from './waiting/limits.ts'
import { findOut, persist, readNode, type NodeState } from './nodes/node.ts'
import { watchedPart, type TreeScopeOptions } from './live/tree-scope.ts'

/** A change of a node from one view of the tree to the next. */
export interface TreeChange {
  readonly type: 'added' | 'changed' | 'removed'
  readonly path: string
  /** Undefined if it was added. Another `czxid` means that it was deleted and created again. */
  readonly before: NodeState | undefined
  /** Undefined if it was removed. */
  readonly node: NodeState | undefined
}

export type TreeListener = (changes: readonly TreeChange[]) => void

export interface TreeCacheOptions extends CallOptions, TreeScopeOptions {
  /**
   * How long to wait for a consistent view if the tree changes faster than it can be read; then the
   * known state becomes visible. 1 s by default.
   */
  readonly patienceMs?: number | undefined
}

/** A node that was reported as changed, and whose current state is not visible yet. */
interface Unsettled {
  /** The reported transactions that are not in the state that was read. */
  events: bigint[]
  /** The state that was read, and the transaction it dates from; undefined if unknown. */
  read: { readonly node: NodeState | undefined; readonly since: bigint | undefined } | undefined
  /** The visible state is valid up to this transaction; undefined means as long as is known. */
  changedAt: bigint | undefined
  isReading: boolean
  /** The node was deleted while it was read: the answer may be from before. */
  isVoid: boolean
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Some transaction of unknown zxid. */
const unknown = 0n
/** If more nodes than this change together, they become visible when all are read. */
const partialMax = 1000
const defaultPatienceMs = 1000

const optionNames: Readonly<Record<keyof TreeCacheOptions, true>> = {
  ...callNames,
  depthMax: true,
  include: true,
  onProblem: true,
  patienceMs: true,
}

/**
 * A node and everything below it, in memory. Changes become visible together, when all of them are
 * read: the cache shows the tree as it was at one moment, as this client's server had it.
 *
 *     await using cache = await TreeCache.open(client, '/app')
 *     cache.onChange((changes) => console.log(changes.length, cache.size))
 *     console.log(cache.children('/app'), cache.get('/app')?.stat.version)
 */
export class TreeCache implements AsyncDisposable {
  readonly path: string
  private readonly client: Client
  private readonly patienceMs: number
  private readonly changesAtServer: Watching
  private readonly ending = new AbortController()
  private readonly nodes = new Map<string, NodeState>()
  private readonly names = new Map<string, Set<string>>()
  private readonly unsettled = new Map<string, Unsettled>()
  private readingCount = 0
  private isWaitingForCalm = false
  private fence: 'none' | 'asked' | 'outdated' = 'none'
  private readonly listeners: Listeners<[changes: readonly TreeChange[]]>
  private readonly feeds = new Set<Feed<readonly TreeChange[]>>()
  private readonly waiting = new Set<Waiter>()
  private stopPatience: (() => void) | undefined
  private end: { readonly reason: unknown } | undefined

  private constructor(client: Client, path: string, options: TreeCacheOptions) {
    this.client = client.patient
    this.path = path
    this.listeners = new Listeners(client.host)
    this.patienceMs = options.patienceMs ?? defaultPatienceMs
    const part = watchedPart(client, options)
    this.changesAtServer = client.watch(path, { ...part, initial: true })
    this.follow().catch((error: unknown) => this.finish(error))
  }

  /**
   * Resolves when the cache is complete. The node need not exist.
   *
   *     await using cache = await TreeCache.open(client, '/app', { depthMax: 2 })
   */
  static async open(
    client: Client,
    path: string,
    options: TreeCacheOptions = {},
  ): Promise<TreeCache> {
    checkOptionNames('TreeCache', options, optionNames)
    const { signal, timeoutMs } = options
    const cache = new TreeCache(client, path, options)
    try {
      await cache.consistent({ signal, timeoutMs })
    } catch (error) {
      await cache.close()
      throw error
    }
    return cache
  }

  // --- the tree --------------------------------------------------------------------------------

  /**
   * A node as the cache knows it; undefined if it does not exist or is left out.
   *
   *     console.log(cache.get('/app')?.stat.version)
   */
  get(path: string): NodeState | undefined {
    return this.nodes.get(path)
  }

  /**
   * The names of a node's children, sorted.
   *
   *     for (const name of cache.children('/app')) console.log(name)
   */
  children(path: string): string[] {
    return [...(this.names.get(path) ?? [])].toSorted()
  }

  /** Parents before their children. */
  *[Symbol.iterator](): IterableIterator<NodeState> {
    for (const path of [...this.nodes.keys()].toSorted(byPath)) yield this.nodes.get(path)!
  }

  /** The number of nodes. */
  get size(): number {
    return this.nodes.size
  }

  /** There is a connection, and everything reported over it is visible. */
  get isLive(): boolean {
    return this.client.state.name === 'connected' && this.isConsistent && this.unsettled.size === 0
  }

  /** Aborts when the mirror is no longer kept up to date; the reason says why. */
  get signal(): AbortSignal {
    return this.ending.signal
  }

  // --- changes -----------------------------------------------------------------------------------

  /**
   * Calls back after each change of the view, with all changes. Returns a function that removes the
   * listener.
   *
   *     const stop = cache.onChange((changes) => {
   *       for (const { type, path } of changes) console.log(type, path)
   *     })
   */
  onChange(listener: TreeListener): () => void {
    return this.listeners.add(listener)
  }

  /**
   * The changes from now on; a slow reader gets missed ones merged into one.
   *
   *     for await (const changes of cache.changes({ signal })) console.log(changes.length)
   */
  changes({ signal }: Pick<CallOptions, 'signal'> = {}): AsyncIterableIterator<
    readonly TreeChange[],
    undefined
  > {
    let stop = (): void => {}
    const feed = new Feed<readonly TreeChange[]>(mergeChanges, (ended) => {
      this.feeds.delete(ended)
      stop()
    })
    this.feeds.add(feed)
    if (signal !== undefined) stop = onAbort(signal, (reason) => feed.fail(reason))
    if (this.end !== undefined) finishFeed(feed, this.end.reason)
    return feed
  }

  /**
   * Resolves when everything that was committed before the call is visible here.
   *
   *     await client.set('/app', 'x')
   *     await cache.sync() // the cache shows it
   */
  sync(options: CallOptions = {}): Promise<void> {
    return limited(this.client, options, async (signal) => {
      await persist(this.client, signal, () => this.client.sync(this.path, { signal }))
      await this.untilConsistent(signal)
    })
  }

  /**
   * Resolves when everything that was reported to this client is visible.
   *
   *     await cache.consistent({ timeoutMs: 5000 })
   */
  consistent(options: CallOptions = {}): Promise<void> {
    return limited(this.client, options, (signal) => this.untilConsistent(signal))
  }

  /**
   * Stops updates; the last view stays.
   *
   *     await cache.close() // or: await using cache = await TreeCache.open(...)
   */
  async close(): Promise<void> {
    this.finish(undefined)
    await this.changesAtServer.return()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // --- following -------------------------------------------------------------------------------

  private async follow(): Promise<void> {
    let next = this.changesAtServer.next()
    for (;;) {
      const { value: change, done } = await next
      if (done === true) return
      const zxid = change.missed ? unknown : (change.zxid ?? unknown)
      if (change.type === 'deleted') this.noteDeleted(change.path, zxid)
      else if (change.type !== 'children' && change.type !== 'sessionExpired')
        this.noteChanged(change.path, zxid)
      // Requested before the check: only then can nothing be left to report.
      next = this.changesAtServer.next()
      this.publishIfConsistent()
    }
  }

  private noteDeleted(path: string, zxid: bigint): void {
    const node = this.unsettle(path, zxid)
    node.read = { node: undefined, since: zxid === unknown ? undefined : zxid }
    node.events = []
    node.isVoid = true
    if (this.fence === 'none') this.hearTheRest().catch((error: unknown) => this.finish(error))
    else this.fence = 'outdated'
  }

  /**
   * A removed node need not be read, but the rest of its transaction may still be on its way, in
   * another packet. The answer to a new request comes after it.
   */
  private async hearTheRest(): Promise<void> {
    this.readingCount++
    do {
      this.fence = 'asked'
      await findOut(this.client, this.signal, () => this.client.exists(this.path))
    } while (this.isFenceOutdated)
    this.fence = 'none'
    this.readingCount--
    this.publishIfConsistent()
  }

  private get isFenceOutdated(): boolean {
    return this.fence === 'outdated'
  }

  private noteChanged(path: string, zxid: bigint): void {
    const node = this.unsettle(path, zxid)
    const seen = node.read?.node?.stat.mzxid
    if (zxid !== unknown && seen !== undefined && zxid <= seen) return
    node.events.push(zxid)
    if (!node.isReading)
      this.readUntilFresh(path, node).catch((error: unknown) => this.finish(error))
  }

  private unsettle(path: string, zxid: bigint): Unsettled {
    this.stopPatience ??= this.client.host.timer(this.patienceMs, () => this.losePatience())
    const there = this.unsettled.get(path)
    if (there !== undefined) {
      there.changedAt ??= zxid
      return there
    }
    const base = { events: [], read: undefined, isReading: false, isVoid: false }
    const made: Unsettled = { ...base, changedAt: zxid }
    this.unsettled.set(path, made)
    return made
  }

  private async readUntilFresh(path: string, node: Unsettled): Promise<void> {
    node.isReading = true
    this.readingCount++
    while (node.events.length > 0) {
      node.isVoid = false
      // A server reports a change before it shows it, so these are in its later answers.
      const { length: covered } = node.events
      const found = await findOut(this.client, this.signal, () => readNode(this.client, path))
      if (this.end !== undefined) return
      if (node.isVoid) continue
      const since = found?.stat.mzxid
      const isNews = (zxid: bigint): boolean => zxid === unknown || zxid > (since ?? unknown)
      node.events = node.events.slice(covered).filter(isNews)
      node.read = { node: found, since }
    }
    node.isReading = false
    this.readingCount--
    this.publishIfConsistent()
  }

  private losePatience(): void {
    this.stopPatience = undefined
    // Without a connection there is nothing newer to show: the view stays consistent.
    if (this.client.state.name === 'connected') this.publish(() => true)
  }

  // --- becoming visible ------------------------------------------------------------------------

  /**
   * A server reports a change before it answers anything that could show it. So when everything
   * reported is read, and nothing was reported since, the nodes are consistent as of the last
   * answer.
   */
  private get isConsistent(): boolean {
    return this.readingCount === 0 && this.changesAtServer.isDrained
  }

  private async untilConsistent(signal: AbortSignal): Promise<void> {
    if (this.end !== undefined) throw this.signal.reason
    let waiter: Waiter | undefined
    const consistent = new Promise<void>((resolve, reject) => {
      waiter = { resolve, reject }
      this.waiting.add(waiter)
    })
    this.publishWhenDrained()
    try {
      await orAborted(consistent, signal)
    } finally {
      this.waiting.delete(waiter!)
    }
  }

  private publishIfConsistent(): void {
    if (this.end !== undefined) return
    if (!this.changesAtServer.isDrained) {
      this.publishWhenDrained()
      return
    }
    if (this.isConsistent) {
      this.publish(() => true)
      for (const { resolve } of this.waiting) resolve()
    } else if (this.unsettled.size <= partialMax) this.publishUpToUnread()
  }

  /**
   * After a reconnection it may turn out that nothing else was missed, and no change reports that.
   */
  private publishWhenDrained(): void {
    if (this.isWaitingForCalm) return
    this.isWaitingForCalm = true
    this.changesAtServer.drained().then(
      () => {
        this.isWaitingForCalm = false
        this.publishIfConsistent()
      },
      () => {},
    )
  }

  /**
   * Under steady change something is always unread. The tree right before the first unread
   * transaction can be shown, unless a newer state of some node was read already.
   */
  private publishUpToUnread(): void {
    let firstUnread: bigint | undefined
    for (const { read, events, changedAt } of this.unsettled.values()) {
      for (const zxid of read === undefined ? [changedAt] : events)
        if (zxid !== undefined && (firstUnread === undefined || zxid < firstUnread))
          firstUnread = zxid
    }
    if (firstUnread === undefined) return
    const limit = firstUnread
    const isBefore = ({ changedAt }: Unsettled): boolean =>
      changedAt !== undefined && changedAt < limit
    for (const node of this.unsettled.values()) {
      const since = node.read?.since
      if (isBefore(node) && (since === undefined || since >= limit)) return
    }
    this.publish(isBefore)
  }

  private publish(isDue: (node: Unsettled) => boolean): void {
    const due: [string, NodeState | undefined][] = []
    for (const [path, node] of this.unsettled) {
      if (node.read === undefined || !isDue(node)) continue
      due.push([path, node.read.node])
      node.read = undefined
      node.changedAt = node.events[0]
      if (!node.isReading) this.unsettled.delete(path)
    }
    if (this.unsettled.size === 0 || due.length > 0) {
      this.stopPatience?.()
      this.stopPatience = undefined
    }
    const sorted = due.toSorted(([a], [b]) => byPath(a, b))
    const changes = [
      ...sorted.toReversed().flatMap(([path, node]) => this.remove(path, node)),
      ...sorted.flatMap(([path, node]) => this.put(path, node)),
    ]
    if (changes.length > 0) this.tell(changes)
  }

  private remove(path: string, node: NodeState | undefined): TreeChange[] {
    const before = this.nodes.get(path)
    if (node !== undefined || before === undefined) return []
    this.nodes.delete(path)
    this.siblings(path)?.delete(nameOf(path))
    if (this.names.get(path)?.size === 0) this.names.delete(path)
    return [{ type: 'removed', path, before, node: undefined }]
  }

  private put(path: string, node: NodeState | undefined): TreeChange[] {
    if (node === undefined) return []
    const before = this.nodes.get(path)
    this.nodes.set(path, node)
    if (before === undefined) {
      this.siblings(path)?.add(nameOf(path))
      return [{ type: 'added', path, before, node }]
    }
    if (node.stat.mzxid === before.stat.mzxid) return []
    return [{ type: 'changed', path, before, node }]
  }

  /** The names at the node's parent, if the cache has them. */
  private siblings(path: string): Set<string> | undefined {
    if (path === this.path) return undefined
    const parent = parentPath(path)
    const there = this.names.get(parent)
    if (there !== undefined) return there
    const made = new Set<string>()
    this.names.set(parent, made)
    return made
  }

  private tell(changes: readonly TreeChange[]): void {
    this.listeners.call(changes)
    for (const feed of this.feeds) feed.push(changes)
  }

  private finish(reason: unknown): void {
    if (this.end !== undefined) return
    this.end = { reason }
    this.stopPatience?.()
    this.ending.abort(reason ?? new Error('the tree cache is closed'))
    this.listeners.clear()
    for (const feed of this.feeds) finishFeed(feed, reason)
    for (const { reject } of this.waiting) reject(this.signal.reason)
  }
}

function finishFeed(feed: Feed<readonly TreeChange[]>, reason: unknown): void {
  if (reason === undefined) void feed.return()
  else feed.fail(reason)
}

function mergeChanges(
  before: readonly TreeChange[],
  next: readonly TreeChange[],
): readonly TreeChange[] {
  const merged = new Map(before.map((change) => [change.path, change]))
  for (const change of next) {
    const earlier = merged.get(change.path)
    const first = earlier === undefined ? change.before : earlier.before
    merged.delete(change.path)
    if (first === undefined && change.node === undefined) continue
    const type = first === undefined ? 'added' : change.node === undefined ? 'removed' : 'changed'
    merged.set(change.path, { type, path: change.path, before: first, node: change.node })
  }
  return [...merged.values()]
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function byPath(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
