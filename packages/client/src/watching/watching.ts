import { parentOf } from '@zabra/protocol'
import { onAbort } from '../abort-signals.ts'
import { ConnectionLossError, isRefusal, SessionExpiredError } from '../errors.ts'
import type { PersistentWatch, WatchEvent } from '../machine/watch-registry.ts'
import { joinPath } from '../paths.ts'
import { ChangeQueue, childrenOf, type Change } from './change.ts'
import { Readers } from '../readers.ts'
import type { Stat } from '../stat.ts'
import { Scope, type ScopeOptions } from './scope.ts'

export interface WatchOptions extends ScopeOptions {
  /** The node and everything below it. */
  readonly recursive?: boolean | undefined
  /** Begin with the current state: one `initial` per node, unless a change of it comes first. */
  readonly initial?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * Continue in the next session when this one expires, after a change of the type
   * `sessionExpired`. `true` by default; with `false` the iteration fails then.
   */
  readonly renew?: boolean | undefined
}

/** The parts of its client that a watch needs. */
export interface WatchPort {
  /** Registers the watch here and on the server, until `remove`. */
  add(watch: PersistentWatch): Promise<void>
  remove(watch: PersistentWatch): void
  exists(path: string): Promise<Stat | undefined>
  children(path: string): Promise<Listed>
}

interface Listed {
  readonly children: readonly string[]
  readonly stat: Stat
}

/** The reported state of a node; an unreported one is older than any. */
interface Known {
  readonly czxid: bigint
  readonly mzxid: bigint
  readonly pzxid: bigint
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

const unknownZxid = -1n
const nothingTold: Known = { czxid: unknownZxid, mzxid: unknownZxid, pzxid: unknownZxid }

/**
 * The changes of a node, or of everything below it, as an iteration. It survives reconnections:
 * changes in the meantime are found by comparing, and marked as `missed`.
 */
export interface Watching extends AsyncIterableIterator<Change, undefined>, AsyncDisposable {
  readonly path: string
  readonly recursive: boolean
  /** The server reports every change from now on, and the initial state is known. */
  readonly ready: Promise<void>
  /**
   * The reader asks for more, and there is nothing: it has handled everything that this client
   * knows.
   */
  readonly isDrained: boolean
  /**
   * Resolves when that is so.
   *
   *     const changes = client.watch('/app', { initial: true })
   *     void (async () => {
   *       for await (const { type } of changes) console.log(type)
   *     })()
   *     await changes.drained()
   *     await changes.return()
   */
  drained(): Promise<void>
  /**
   * Ends the iteration and removes the watch on the server.
   *
   *     const changes = client.watch('/app')
   *     await changes.return() // or: await using changes = client.watch('/app')
   */
  return(): Promise<IteratorResult<Change, undefined>>
  [Symbol.asyncIterator](): this
}

/** The side of a watch that the client feeds with events. */
export class LiveWatching implements Watching, PersistentWatch {
  readonly path: string
  readonly recursive: boolean
  readonly ready: Promise<void>
  private readonly port: WatchPort
  private readonly options: WatchOptions
  private readonly renews: boolean
  private readonly scope: Scope
  private readonly queue = new ChangeQueue()
  private readonly readers = new Readers<Change>()
  private readonly known = new Map<string, Known>()
  /**
   * While changes may have been missed: the nodes, and the `childrenOf` nodes, that were reported
   * since the server watches for this connection. It reports all later changes, so nothing more has
   * to be found.
   */
  private readonly told = new Set<string>()
  /** The same for events before that, until the initial state is known. */
  private readonly toldEarlier = new Set<string>()
  /** Nodes that the last comparison was not allowed to read. */
  private readonly hidden = new Set<string>()
  private isLooking = false
  private mustLookAgain = false
  /** Some changes were not reported: the first comparison, or one after a reconnection, is due. */
  private isBehind = true
  /** It watched before and changes may have been missed since. */
  private hasGap = false
  private readonly waitingForCalm: Waiter[] = []
  private readonly whenReady: Waiter
  private isBeginning = false
  /** How often a comparison has begun. */
  private beginnings = 0
  /** Some server has set the watch. */
  private hasBegun = false
  /** The initial state is known. */
  private hasLooked = false
  private isOver = false
  private stopListening = (): void => {}

  constructor(port: WatchPort, path: string, options: WatchOptions) {
    this.port = port
    this.path = path
    this.recursive = options.recursive ?? false
    this.options = options
    this.renews = options.renew ?? true
    this.scope = new Scope(path, options)
    const { signal } = options
    let whenReady!: Waiter
    this.ready = new Promise((resolve, reject) => (whenReady = { resolve, reject }))
    this.ready.catch(() => {})
    this.whenReady = whenReady
    if (signal?.aborted === true) {
      this.fail(signal.reason)
      return
    }
    if (signal !== undefined) this.stopListening = onAbort(signal, (reason) => this.fail(reason))
    void this.begin()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Change, undefined>> {
    const change = this.queue.shift()
    const next = this.readers.next(change === undefined ? undefined : { value: change })
    this.tellCalm()
    return next
  }

  get isDrained(): boolean {
    return !this.isBehind && this.queue.size === 0 && this.readers.size > 0
  }

  drained(): Promise<void> {
    if (this.isDrained || this.isOver) return Promise.resolve()
    return new Promise((resolve, reject) => this.waitingForCalm.push({ resolve, reject }))
  }

  return(): Promise<IteratorResult<Change, undefined>> {
    this.end()
    for (const { resolve } of [this.whenReady, ...this.waitingForCalm.splice(0)]) resolve()
    return this.readers.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  // --- called by the client ----------------------------------------------------------------------

  event({ type, path, zxid }: WatchEvent): void {
    if (type === 'lost' || this.isOver || !this.isOfInterest(path)) return
    const missed = this.isBehind && this.noteTold(type, path)
    const isNew = type === 'created' && !this.known.has(path)
    this.remember(type, path, zxid ?? unknownZxid)
    this.tell({ type, path, zxid, stat: undefined, missed }, isNew)
  }

  resumed(): void {
    this.fallBehind()
    if (!this.isBeginning) this.lookAnew()
  }

  lost(reason: unknown): void {
    if (this.isOver) return
    this.fallBehind()
    if (!this.renews || !(reason instanceof SessionExpiredError)) {
      this.fail(reason)
      return
    }
    if (this.hasBegun) this.tell(foundAs('sessionExpired', this.path, undefined), false)
    void this.begin()
  }

  /** The server reports everything below the node. */
  private isOfInterest(path: string): boolean {
    try {
      return this.scope.has(path, this.known)
    } catch (error) {
      this.fail(error)
      return false
    }
  }

  // --- reported changes --------------------------------------------------------------------------

  /** Returns whether an unreported change may have come before. */
  private noteTold(type: Change['type'], path: string): boolean {
    const about = this.sidesOf(type, path)
    const isFirst = about.some((side) => !this.told.has(side))
    for (const side of about) this.told.add(side)
    return this.hasGap && isFirst
  }

  /** The parts that a change concerns: the node, its children, or both. */
  private sidesOf(type: Change['type'], path: string): string[] {
    if (type === 'children') return [childrenOf(path)]
    return this.recursive || type === 'changed' ? [path] : [path, childrenOf(path)]
  }

  private remember(type: Change['type'], path: string, zxid: bigint): void {
    const { czxid, mzxid, pzxid } = this.known.get(path) ?? nothingTold
    if (type === 'deleted') this.known.delete(path)
    else if (type === 'children') this.known.set(path, { czxid, mzxid, pzxid: zxid })
    else if (type === 'created') this.known.set(path, { czxid: zxid, mzxid: zxid, pzxid: zxid })
    else this.known.set(path, { czxid, mzxid: zxid, pzxid })
  }

  private fallBehind(): void {
    this.isBehind = true
    this.hasGap = this.hasBegun
    this.hearAnew()
  }

  private hearAnew(): void {
    if (!this.hasLooked) for (const side of this.told) this.toldEarlier.add(side)
    this.told.clear()
  }

  // --- comparing ---------------------------------------------------------------------------------

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
        // After an expiry in the middle of it `lost` has started again, unless the client has
        // ended.
        if (!(error instanceof SessionExpiredError) || this.beginnings === own) this.fail(error)
        return
      }
    }
    // Earlier events were for other watches on the path, and may be incomplete.
    if (!this.hasBegun) this.hearAnew()
    this.hasBegun = true
    this.lookAnew()
  }

  /**
   * One comparison at a time: one that began in the last session may continue in this one,
   * unwatched at first.
   */
  private lookAnew(): void {
    if (this.isLooking) this.mustLookAgain = true
    else void this.look()
  }

  /** Compares what exists with what was known, and reports the difference. */
  private async look(): Promise<void> {
    this.isLooking = true
    do {
      this.mustLookAgain = false
      try {
        const found = await this.survey()
        if (this.isOver) return
        // Some nodes were read before this connection was watched: changes in between are unknown.
        if (this.mustLookAgain) continue
        this.compare(found, !this.hasLooked)
        this.catchUp()
      } catch (error) {
        if (error instanceof ConnectionLossError) this.mustLookAgain = true
        else {
          // After an expiry `lost` starts again, and compares once the next session watches.
          if (this.isBeginning) this.mustLookAgain = false
          if (!(error instanceof SessionExpiredError && this.renews)) this.fail(error)
        }
      }
    } while (this.mustLookAgain && !this.isOver)
    this.isLooking = false
    this.tellCalm()
  }

  private catchUp(): void {
    this.isBehind = false
    this.hasGap = false
    this.hasLooked = true
    this.told.clear()
    this.toldEarlier.clear()
    this.whenReady.resolve()
  }

  private async survey(): Promise<Map<string, Stat>> {
    const found = new Map<string, Stat>()
    this.hidden.clear()
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
    const listed = await this.list(path)
    if (listed === undefined) return []
    found.set(path, listed.stat)
    return listed.children
      .map((name) => joinPath(path, name))
      .filter((child) => this.known.has(child) || this.scope.hasChild(child))
  }

  /** Undefined if the node does not exist, or may not be read. */
  private async list(path: string): Promise<Listed | undefined> {
    try {
      if (!this.scope.isBottom(path)) return await this.port.children(path)
      const stat = await this.port.exists(path)
      return stat && { children: [], stat }
    } catch (error) {
      if (isRefusal(error, 'noAuth')) this.hidden.add(path)
      if (isRefusal(error, 'noNode', 'noAuth')) return undefined
      throw error
    }
  }

  private compare(found: ReadonlyMap<string, Stat>, isFirst: boolean): void {
    for (const [path, stat] of found) this.compareNode(path, stat, isFirst)
    const isThereOrTold = [found, this.told, this.known].some((paths) => paths.has(this.path))
    if (this.options.initial === true && !isThereOrTold && this.isUntold(this.path, isFirst))
      this.tell(foundAs('initial', this.path, undefined), false)
    for (const path of this.known.keys()) {
      if (found.has(path) || this.told.has(path) || this.isHidden(path)) continue
      this.known.delete(path)
      this.tell(foundAs('deleted', path, undefined), false)
    }
  }

  /** The node or an ancestor may not be read: its state is unknown. */
  private isHidden(path: string): boolean {
    if (this.hidden.size === 0) return false
    for (let at = path; at !== '/'; at = parentOf(at)) if (this.hidden.has(at)) return true
    return this.hidden.has('/')
  }

  private compareNode(path: string, stat: Stat, isFirst: boolean): void {
    const before = this.known.get(path)
    const isTold = this.told.has(path)
    // It was read, and then reported deleted.
    if (isTold && before === undefined) return
    this.known.set(path, newest(before ?? nothingTold, stat))
    const news = isTold ? undefined : this.newsOf(path, before, stat, isFirst)
    if (news !== undefined) this.tell(foundAs(news, path, stat), before === undefined)
    const isOfChildrenToo = news === 'initial' || news === 'created'
    if (this.recursive || isOfChildrenToo || this.told.has(childrenOf(path))) return
    const isUntold = this.isUntold(childrenOf(path), isFirst)
    const hasChanged = stat.pzxid > (before ?? nothingTold).pzxid
    if (isUntold ? this.options.initial === true : hasChanged)
      this.tell({ ...foundAs('children', path, stat), missed: !isUntold }, false)
  }

  private newsOf(
    path: string,
    before: Known | undefined,
    stat: Stat,
    isFirst: boolean,
  ): 'initial' | 'created' | 'changed' | undefined {
    if (this.isUntold(path, isFirst)) return this.options.initial === true ? 'initial' : undefined
    if (before === undefined) return 'created'
    // If its last change was never reported (servers before 3.9), its creation identifies it.
    const isSame = before.mzxid === unknownZxid && stat.czxid === before.czxid
    if (!isSame && stat.czxid > before.mzxid) return 'created'
    return stat.mzxid > before.mzxid ? 'changed' : undefined
  }

  /** The reader does not know the initial state, so this is no change. */
  private isUntold(side: string, isFirst: boolean): boolean {
    return isFirst && !this.toldEarlier.has(side)
  }

  // --- reporting ---------------------------------------------------------------------------------

  private tell(change: Change, isNew: boolean): void {
    if (!this.readers.offer(change)) this.queue.push(change, isNew)
  }

  private tellCalm(): void {
    if (!this.isDrained) return
    for (const { resolve } of this.waitingForCalm.splice(0)) resolve()
  }

  private fail(reason: unknown): void {
    if (this.isOver) return
    this.end()
    this.readers.fail(reason)
    for (const { reject } of [this.whenReady, ...this.waitingForCalm.splice(0)]) reject(reason)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.stopListening()
    this.port.remove(this)
  }
}

/** A change that was found, not reported by the server. */
function foundAs(type: Change['type'], path: string, stat: Stat | undefined): Change {
  const zxid = type === 'children' ? stat?.pzxid : stat?.mzxid
  return { type, path, zxid, stat, missed: type !== 'initial' }
}

/** A node may have been read before an event about it was handled. */
function newest(known: Known, seen: Known): Known {
  return {
    czxid: seen.czxid > known.czxid ? seen.czxid : known.czxid,
    mzxid: seen.mzxid > known.mzxid ? seen.mzxid : known.mzxid,
    pzxid: seen.pzxid > known.pzxid ? seen.pzxid : known.pzxid,
  }
}
