import {
  eventTypes,
  parentOf,
  permissions,
  syncConnected,
  Writer,
  xids,
  type EventType,
  type Id,
} from '@zabra/protocol'
import type { AclEntry } from '../acl/acl-table.ts'
import { allows, type AclRules } from '../acl/permission.ts'
import { Summary } from '../../base/statistics.ts'
import { watchModes, WatchTable } from './watch-table.ts'

/** A connection, as far as watches are concerned. */
export interface Watcher {
  readonly identities: readonly Id[]
  /** The last firing that reached it: one event is told once, however many watches match. */
  lastFiring: number
  /** The weight of its watches: see `watchWeight`. */
  watchWeight: number
  /** Takes a whole frame, which is shared with others and must be copied. */
  deliver(frame: Uint8Array): void
}

/** How many watches there may be, as weights: a long path counts as several. */
export interface WatchLimits {
  readonly perWatcher: number
  readonly total: number
}

/** Who is told what, when. Watches belong to connections: they vanish with them. */
export class Watches {
  /** Watches on existence and data; recursive ones stand here only. */
  readonly data: WatchTable<Watcher>
  readonly children: WatchTable<Watcher>
  limits: WatchLimits = { perWatcher: Infinity, total: Infinity }
  /** How many notifications went out, and their bytes. */
  delivered = 0
  deliveredBytes = 0
  /** How often a change met a watch, whether or not it was told: the work that watches make. */
  met = 0
  /** How many were told of one change, by the type of event. */
  readonly toldPerChange = {
    [eventTypes.nodeCreated]: new Summary(),
    [eventTypes.nodeDeleted]: new Summary(),
    [eventTypes.nodeDataChanged]: new Summary(),
    [eventTypes.nodeChildrenChanged]: new Summary(),
  }
  private readonly rules: AclRules
  private readonly writer = new Writer()
  private firing = 0
  private frame: Uint8Array | undefined

  constructor(rules: AclRules, hashSeed?: number) {
    this.rules = rules
    this.data = new WatchTable(hashSeed)
    this.children = new WatchTable(hashSeed)
  }

  get count(): number {
    return this.data.size + this.children.size
  }

  /** How many watches somebody has. */
  countOf(watcher: Watcher): number {
    return this.data.watchedBy(watcher).size + this.children.watchedBy(watcher).size
  }

  /** There are as many watches as this server can hold. */
  get isFull(): boolean {
    return this.data.weight + this.children.weight >= this.limits.total
  }

  /** Whether this watcher may watch something more. */
  hasRoom(watcher: Watcher): boolean {
    return watcher.watchWeight < this.limits.perWatcher && !this.isFull
  }

  /** Leaves a one-shot watch in one of the tables; false where there are too many. */
  add(table: WatchTable<Watcher>, path: string, watcher: Watcher): boolean {
    if (!this.hasRoom(watcher)) return false
    table.add(path, watcher, watchModes.standard)
    return true
  }

  created(path: string, zxid: bigint, acl: AclEntry, parentAcl: AclEntry): void {
    if (!this.data.isEmpty) {
      this.begin()
      this.tell(this.data, path, eventTypes.nodeCreated, zxid, acl)
    }
    this.childrenChanged(path, zxid, parentAcl)
  }

  deleted(path: string, zxid: bigint, acl: AclEntry, parentAcl: AclEntry): void {
    this.begin()
    if (!this.data.isEmpty) this.tell(this.data, path, eventTypes.nodeDeleted, zxid, acl)
    // The same firing: who was told by a data watch is not told again by a child watch.
    if (!this.children.isEmpty) this.tell(this.children, path, eventTypes.nodeDeleted, zxid, acl)
    this.childrenChanged(path, zxid, parentAcl)
  }

  dataChanged(path: string, zxid: bigint, acl: AclEntry): void {
    if (this.data.isEmpty) return
    this.begin()
    this.tell(this.data, path, eventTypes.nodeDataChanged, zxid, acl)
  }

  private childrenChanged(path: string, zxid: bigint, parentAcl: AclEntry): void {
    if (this.children.isEmpty) return
    this.begin()
    this.tell(this.children, parentOf(path), eventTypes.nodeChildrenChanged, zxid, parentAcl)
  }

  dropWatcher(watcher: Watcher): void {
    this.data.dropWatcher(watcher)
    this.children.dropWatcher(watcher)
  }

  /** Time passed: goes on forgetting watchers that are gone. */
  tick(): void {
    this.data.dropMore()
    this.children.dropMore()
  }

  /** An event for one watcher alone: what it missed while it was away. Carries no zxid. */
  catchUp(watcher: Watcher, type: EventType, path: string): void {
    this.frame = undefined
    this.deliver(watcher, this.encode(type, path, -1n))
  }

  private begin(): void {
    this.firing++
    this.frame = undefined
  }

  private tell(
    table: WatchTable<Watcher>,
    path: string,
    type: EventType,
    zxid: bigint,
    acl: AclEntry,
  ): void {
    const { firing } = this
    const visit = (watcher: Watcher): void => {
      this.met++
      if (watcher.lastFiring === firing) return
      watcher.lastFiring = firing
      // Who may not read the node is not told of it; a one-shot watch is used up all the same.
      if (!allows(this.rules, acl, permissions.read, watcher.identities)) return
      this.deliver(watcher, this.encode(type, path, zxid))
    }
    const before = this.delivered
    table.fire(path, visit)
    if (table.hasRecursive && table === this.data) table.fireRecursive(path, visit)
    if (this.delivered > before) this.toldPerChange[type].add(this.delivered - before)
  }

  private deliver(watcher: Watcher, frame: Uint8Array): void {
    watcher.deliver(frame)
    this.delivered++
    this.deliveredBytes += frame.length
  }

  /** The notification is encoded once, whoever gets it. */
  private encode(type: EventType, path: string, zxid: bigint): Uint8Array {
    if (this.frame !== undefined) return this.frame
    const { writer } = this
    writer.reset()
    writer.int(0)
    writer.int(xids.notification)
    writer.long(zxid)
    writer.int(0)
    writer.int(type)
    writer.int(syncConnected)
    writer.ustring(path)
    writer.intAt(0, writer.position - 4)
    return (this.frame = writer.written())
  }
}
