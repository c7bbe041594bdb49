import { eventTypes, parentOf } from '@zabra/protocol'

/** A change of a node; `lost` is not a change, but the end of a watch that may have missed one. */
export interface WatchEvent {
  readonly type: 'created' | 'changed' | 'deleted' | 'children' | 'lost'
  readonly path: string
  /**
   * The zxid of the transaction; servers before 3.9 do not report it, nor does any after a
   * reconnection.
   */
  readonly zxid: bigint | undefined
}

export type OneShotWatch = (event: WatchEvent) => void

/** The kinds of one-shot watches; `exist` are those on missing nodes. */
export type WatchKind = 'data' | 'exist' | 'child'

/** Receives every change until it is removed. */
export interface PersistentWatch {
  readonly path: string
  readonly recursive: boolean
  event(event: WatchEvent): void
  /** The client has reconnected: changes in between were not reported. */
  resumed(): void
  /** No more changes will be reported. */
  lost(reason: unknown): void
}

/** The watches that a new connection must set; paths as the server knows them. */
export interface WatchLists {
  readonly data: string[]
  readonly exist: string[]
  readonly child: string[]
  readonly persistent: string[]
  readonly recursive: string[]
}

type OneShots = Map<string, OneShotWatch | OneShotWatch[]>

const typeNames: Readonly<Record<number, WatchEvent['type']>> = {
  [eventTypes.nodeCreated]: 'created',
  [eventTypes.nodeDeleted]: 'deleted',
  [eventTypes.nodeDataChanged]: 'changed',
  [eventTypes.nodeChildrenChanged]: 'children',
}

/** The watchers of each path. Paths are those of the server, with the chroot. */
export class WatchRegistry {
  private readonly data: OneShots = new Map()
  private readonly exist: OneShots = new Map()
  private readonly child: OneShots = new Map()
  private readonly persistent = new Map<string, Set<PersistentWatch>>()
  private readonly recursive = new Map<string, Set<PersistentWatch>>()
  private readonly inChroot: (path: string) => string | undefined

  private readonly report: (error: unknown) => void

  constructor(
    inChroot: (path: string) => string | undefined,
    /** Reports errors of the callers' functions, which must not affect the others. */
    report: (error: unknown) => void,
  ) {
    this.inChroot = inChroot
    this.report = report
  }

  add(kind: WatchKind, path: string, watch: OneShotWatch): void {
    const table = this[kind]
    const there = table.get(path)
    if (there === undefined) table.set(path, watch)
    else if (typeof there === 'function') {
      if (there !== watch) table.set(path, [there, watch])
    } else if (!there.includes(watch)) there.push(watch)
  }

  /** Returns whether there was a watch. */
  remove(kind: WatchKind, path: string): boolean {
    return this[kind].delete(path)
  }

  addPersistent(path: string, watch: PersistentWatch): void {
    const table = watch.recursive ? this.recursive : this.persistent
    const there = table.get(path)
    if (there === undefined) table.set(path, new Set([watch]))
    else there.add(watch)
  }

  /** Returns whether it was the last one on its path, so that the server may remove it too. */
  removePersistent(path: string, watch: PersistentWatch): boolean {
    const table = watch.recursive ? this.recursive : this.persistent
    const there = table.get(path)
    if (there === undefined || !there.delete(watch) || there.size > 0) return false
    table.delete(path)
    return true
  }

  /** Whether another watcher watches a path in the same way. */
  hasPersistent(path: string, { recursive }: PersistentWatch): boolean {
    return (recursive ? this.recursive : this.persistent).has(path)
  }

  /** Whether anything at all is watched on this path. */
  has(path: string): boolean {
    const tables = [this.data, this.exist, this.child, this.persistent, this.recursive]
    return tables.some((table) => table.has(path))
  }

  get size(): number {
    return this.data.size + this.exist.size + this.child.size + this.persistentSize
  }

  get persistentSize(): number {
    return this.persistent.size + this.recursive.size
  }

  fire(type: number, path: string, zxid: bigint | undefined): void {
    const name = typeNames[type]
    if (name === undefined) return
    // Paths outside the chroot are watched as they are: the ensemble's configuration.
    const event: WatchEvent = { type: name, path: this.inChroot(path) ?? path, zxid }
    if (name !== 'children') {
      this.call(this.data, path, event)
      this.call(this.exist, path, event)
    }
    if (name === 'children' || name === 'deleted') this.call(this.child, path, event)
    this.firePersistent(path, event)
  }

  private firePersistent(path: string, event: WatchEvent): void {
    if (this.persistent.size > 0)
      for (const watch of this.persistent.get(path) ?? []) watch.event(event)
    if (this.recursive.size === 0 || event.type === 'children') return
    for (let at = path; ; at = parentOf(at)) {
      for (const watch of this.recursive.get(at) ?? []) watch.event(event)
      if (at === '/') return
    }
  }

  lists(): WatchLists {
    return {
      data: [...this.data.keys()],
      exist: [...this.exist.keys()],
      child: [...this.child.keys()],
      persistent: [...this.persistent.keys()],
      recursive: [...this.recursive.keys()],
    }
  }

  resumed(): void {
    for (const watch of this.allPersistent()) watch.resumed()
  }

  /** Ends all watches and notifies their watchers. */
  clear(reason: unknown): void {
    const persistent = this.allPersistent()
    const oneShots = [this.data, this.exist, this.child].map((table) => new Map(table))
    for (const table of [this.data, this.exist, this.child, this.persistent, this.recursive])
      table.clear()
    for (const table of oneShots) {
      for (const path of table.keys())
        this.call(table, path, { type: 'lost', path: this.inChroot(path) ?? path, zxid: undefined })
    }
    for (const watch of persistent) watch.lost(reason)
  }

  private allPersistent(): PersistentWatch[] {
    return [...this.persistent.values(), ...this.recursive.values()].flatMap((set) => [...set])
  }

  private call(table: OneShots, path: string, event: WatchEvent): void {
    const there = table.get(path)
    if (there === undefined) return
    table.delete(path)
    for (const watch of typeof there === 'function' ? [there] : there) {
      try {
        watch(event)
      } catch (error) {
        this.report(error)
      }
    }
  }
}
