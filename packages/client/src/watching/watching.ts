import type { Stat } from '@zabra/protocol'
import { ConnectionLossError, isRefusal, SessionExpiredError } from '../errors.ts'
import type { PersistentWatch, WatchEvent } from '../machine/watch-registry.ts'
import { ChangeQueue, type Change } from './change.ts'

export interface WatchOptions {
  /** The node and all below it. */
  readonly recursive?: boolean | undefined
  /** Begin with how things are: one `initial` for each node. */
  readonly initial?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Go on in the next session when this one expires; else the iteration fails then. */
  readonly renew?: boolean | undefined
}

/** What a watching needs of its client. */
export interface WatchPort {
  /** Registers it here and at the server, until `remove`. */
  add(watch: PersistentWatch): Promise<void>
  remove(watch: PersistentWatch): void
  exists(path: string): Promise<Stat | undefined>
  children(path: string): Promise<{ readonly children: string[]; readonly stat: Stat }>
}

interface Known {
  readonly mzxid: bigint
  readonly pzxid: bigint
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<Change, undefined>) => void
  readonly reject: (reason: unknown) => void
}

const unknownZxid = -1n

/**
 * The changes of a node, or of all below it, as an iteration. A reconnection does not end it: what
 * changed meanwhile is found by looking, and marked as `missed`.
 */
export class Watching implements PersistentWatch, AsyncIterableIterator<Change, undefined> {
  readonly path: string
  readonly recursive: boolean
  /** The server tells of every change from now on, and how things were is known. */
  readonly ready: Promise<void>
  private readonly port: WatchPort
  private readonly options: WatchOptions
  private readonly queue = new ChangeQueue()
  private readonly readers: Reader[] = []
  private readonly known = new Map<string, Known>()
  /** What was told while nodes are being looked at is newer than what is seen of them. */
  private toldMeanwhile: Set<string> | undefined
  private mustLookAgain = false
  /** Not all that happened is told: the first look, or one after a reconnection, is due. */
  private isBehind = true
  private readonly waitingForCalm: Waiter[] = []
  private readonly whenReady: Waiter
  private isBeginning = false
  /** How often it has begun. */
  private beginnings = 0
  /** How things were at first is known. */
  private hasLooked = false
  private isOver = false
  private failure: { readonly reason: unknown } | undefined
  private readonly onAbort = (): void => this.fail(this.options.signal?.reason)

  constructor(port: WatchPort, path: string, options: WatchOptions) {
    this.port = port
    this.path = path
    this.recursive = options.recursive ?? false
    this.options = options
    const { signal } = options
    let whenReady!: Waiter
    this.ready = new Promise((resolve, reject) => (whenReady = { resolve, reject }))
    this.ready.catch(() => {})
    this.whenReady = whenReady
    if (signal?.aborted === true) {
      this.fail(signal.reason)
      return
    }
    signal?.addEventListener('abort', this.onAbort, { once: true })
    void this.begin()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    const change = this.queue.shift()
    if (change !== undefined) return Promise.resolve({ value: change, done: false })
    const { failure } = this
    if (failure !== undefined) {
      this.failure = undefined
      return Promise.reject(failure.reason)
    }
    if (this.isOver) return Promise.resolve({ value: undefined, done: true })
    const next = new Promise<IteratorResult<Change, undefined>>((resolve, reject) =>
      this.readers.push({ resolve, reject }),
    )
    this.tellCalm()
    return next
  }

  /** The reader asks for more, and there is none: it has dealt with all that this client knows of. */
  get isDrained(): boolean {
    return !this.isBehind && this.queue.size === 0 && this.readers.length > 0
  }

  /** Resolves when that is so. */
  drained(): Promise<void> {
    if (this.isDrained || this.isOver) return Promise.resolve()
    return new Promise((resolve, reject) => this.waitingForCalm.push({ resolve, reject }))
  }

  /** Ends the iteration; the server forgets the watch. */
  return(): Promise<IteratorResult<Change, undefined>> {
    this.end()
    for (const { resolve } of this.readers.splice(0)) resolve({ value: undefined, done: true })
    for (const { resolve } of [this.whenReady, ...this.waitingForCalm.splice(0)]) resolve()
    for (const { resolve } of this.waitingForCalm.splice(0)) resolve()
    return Promise.resolve({ value: undefined, done: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  // --- told by the client ----------------------------------------------------------------------

  event({ type, path, zxid }: WatchEvent): void {
    if (type === 'lost' || this.isOver) return
    this.toldMeanwhile?.add(path)
    const now = zxid ?? unknownZxid
    if (type === 'deleted') this.known.delete(path)
    else {
      const { mzxid, pzxid } = this.known.get(path) ?? { mzxid: now, pzxid: now }
      const isChildren = type === 'children'
      this.known.set(path, {
        mzxid: isChildren ? mzxid : now,
        pzxid: isChildren || type === 'created' ? now : pzxid,
      })
    }
    this.tell({ type, path, zxid, stat: undefined, missed: false })
  }

  resumed(): void {
    this.isBehind = true
    if (!this.isBeginning) this.lookAnew()
  }

  lost(reason: unknown): void {
    if (this.isOver) return
    this.isBehind = true
    if (this.options.renew === true && reason instanceof SessionExpiredError) void this.begin()
    else this.fail(reason)
  }

  // --- looking ---------------------------------------------------------------------------------

  private async begin(): Promise<void> {
    const own = ++this.beginnings
    this.isBeginning = true
    while (this.isBeginning) {
      try {
        await this.port.add(this)
        this.isBeginning = false
      } catch (error) {
        // The next connection is asked again.
        if (error instanceof ConnectionLossError && !this.isOver) continue
        // After an expiry in the middle of it `lost` has begun anew, unless that was the client's end.
        if (!(error instanceof SessionExpiredError) || this.beginnings === own) this.fail(error)
        return
      }
    }
    this.lookAnew()
  }

  /** One look at a time: what began in the last session may go on in this one, unwatched at first. */
  private lookAnew(): void {
    if (this.toldMeanwhile !== undefined) this.mustLookAgain = true
    else void this.look()
  }

  /** Compares what is there with what was known, and tells the difference. */
  private async look(): Promise<void> {
    do {
      this.mustLookAgain = false
      const told = (this.toldMeanwhile = new Set<string>())
      try {
        const found = await this.survey()
        if (this.isOver) return
        this.compare(found, told, !this.hasLooked)
        this.hasLooked = true
        this.whenReady.resolve()
        this.isBehind = this.mustLookAgain
      } catch (error) {
        if (error instanceof ConnectionLossError) this.mustLookAgain = true
        else {
          // After an expiry `lost` begins anew, and looks when the next session watches.
          if (this.isBeginning) this.mustLookAgain = false
          if (!(error instanceof SessionExpiredError && this.options.renew === true))
            this.fail(error)
        }
      } finally {
        this.toldMeanwhile = undefined
      }
    } while (this.mustLookAgain && !this.isOver)
    this.tellCalm()
  }

  private async survey(): Promise<Map<string, Stat>> {
    const found = new Map<string, Stat>()
    if (!this.recursive) {
      const stat = await this.port.exists(this.path)
      if (stat !== undefined) found.set(this.path, stat)
      return found
    }
    let level = [this.path]
    while (level.length > 0 && !this.isOver) {
      const below = await Promise.all(level.map((path) => this.surveyNode(path, found)))
      level = below.flat()
    }
    return found
  }

  /** The paths of its children. */
  private async surveyNode(path: string, found: Map<string, Stat>): Promise<string[]> {
    try {
      const { children, stat } = await this.port.children(path)
      found.set(path, stat)
      return children.map((name) => (path === '/' ? `/${name}` : `${path}/${name}`))
    } catch (error) {
      if (isRefusal(error, 'noNode', 'noAuth')) return []
      throw error
    }
  }

  private compare(
    found: ReadonlyMap<string, Stat>,
    told: ReadonlySet<string>,
    isFirst: boolean,
  ): void {
    for (const [path, stat] of found) {
      if (told.has(path)) continue
      const before = this.known.get(path)
      this.known.set(path, { mzxid: stat.mzxid, pzxid: stat.pzxid })
      if (isFirst) {
        if (this.options.initial === true) this.tellFound('initial', path, stat)
      } else if (before === undefined || stat.czxid > before.mzxid) {
        this.tellFound('created', path, stat)
      } else {
        if (stat.mzxid > before.mzxid) this.tellFound('changed', path, stat)
        if (!this.recursive && stat.pzxid > before.pzxid) this.tellFound('children', path, stat)
      }
    }
    for (const path of this.known.keys()) {
      if (found.has(path) || told.has(path)) continue
      this.known.delete(path)
      this.tell({ type: 'deleted', path, zxid: undefined, stat: undefined, missed: true })
    }
    if (isFirst && this.options.initial === true && !found.has(this.path) && !told.has(this.path))
      this.tellFound('initial', this.path, undefined)
  }

  private tellFound(type: Change['type'], path: string, stat: Stat | undefined): void {
    const zxid = type === 'children' ? stat?.pzxid : stat?.mzxid
    this.tell({ type, path, zxid, stat, missed: type !== 'initial' })
  }

  // --- telling ---------------------------------------------------------------------------------

  private tell(change: Change): void {
    const reader = this.readers.shift()
    if (reader === undefined) this.queue.push(change)
    else reader.resolve({ value: change, done: false })
  }

  private tellCalm(): void {
    if (!this.isDrained) return
    for (const { resolve } of this.waitingForCalm.splice(0)) resolve()
  }

  private fail(reason: unknown): void {
    if (this.isOver) return
    this.end()
    const [first, ...others] = this.readers.splice(0)
    if (first === undefined) this.failure = { reason }
    else first.reject(reason)
    for (const { resolve } of others) resolve({ value: undefined, done: true })
    for (const { reject } of [this.whenReady, ...this.waitingForCalm.splice(0)]) reject(reason)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.options.signal?.removeEventListener('abort', this.onAbort)
    this.port.remove(this)
  }
}
