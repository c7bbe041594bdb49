import {
  eventTypes,
  parentOf,
  permissions,
  syncConnected,
  Writer,
  xids,
  type EventType,
  type Id,
  type CodecMemory,
} from '@zabra/protocol'
import type { AclEntry } from '../acl/acl-table.ts'
import { allows, type AclRules } from '../acl/permission.ts'
import { Summary } from '../../base/statistics.ts'
import { watchModes, WatchTable } from './watch-table.ts'

/** A connection, as far as watches are concerned. */
export interface Watcher {
  readonly identities: readonly Id[]
  /**
   * The last firing that reached it: a client gets one notification per event, however many of its
   * watches match.
   */
  lastFiring: number
  /** The weight of its watches: see `watchWeight`. */
  watchWeight: number
  /** Delivers a whole frame. Several watchers share the frame, so it must be copied. */
  deliver(frame: Uint8Array): void
}

/** The allowed number of watches, as weights: a long path counts several times. */
export interface WatchLimits {
  readonly perWatcher: number
  readonly total: number
}

/** Delivers notifications of changes. Watches belong to connections and end with them. */
export class Watches {
  /** Watches on existence and data; also holds all recursive watches. */
  readonly data: WatchTable<Watcher>
  readonly children: WatchTable<Watcher>
  limits: WatchLimits = { perWatcher: Infinity, total: Infinity }
  /** The number of notifications delivered, and their bytes. */
  delivered = 0
  deliveredBytes = 0
  /** The number of times a change matched a watch, delivered or not: a measure of the work. */
  met = 0
  /** The number of notifications for one change, by type of event. */
  readonly toldPerChange = {
    [eventTypes.nodeCreated]: new Summary(),
    [eventTypes.nodeDeleted]: new Summary(),
    [eventTypes.nodeDataChanged]: new Summary(),
    [eventTypes.nodeChildrenChanged]: new Summary(),
  }
  private readonly rules: AclRules
  private readonly writer: Writer
  private firing = 0
  private frame: Uint8Array | undefined

  constructor(
    rules: AclRules,
    { hashSeed, memory }: { hashSeed?: number | undefined; memory?: CodecMemory } = {},
  ) {
    this.rules = rules
    this.writer = new Writer(256, memory)
    this.data = new WatchTable(hashSeed)
    this.children = new WatchTable(hashSeed)
  }

  get count(): number {
    return this.data.size + this.children.size
  }

  /** The number of watches of a connection. */
  countOf(watcher: Watcher): number {
    return this.data.watchedBy(watcher).size + this.children.watchedBy(watcher).size
  }

  /** Whether the server has reached its limit of watches. */
  get isFull(): boolean {
    return this.data.weight + this.children.weight >= this.limits.total
  }

  /** Whether this connection may add a watch. */
  hasRoom(watcher: Watcher): boolean {
    return watcher.watchWeight < this.limits.perWatcher && !this.isFull
  }

  /** Adds a one-shot watch to one of the tables; false if the limit is reached. */
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
    // This is the same firing: a client that got the event by a data watch does not get it again by
    // a child watch.
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

  /** Called on each tick: removes more watches of closed connections. */
  tick(): void {
    this.data.dropMore()
    this.children.dropMore()
  }

  /** Delivers an event that one watcher missed while it was disconnected. It carries no zxid. */
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
      // A client that may not read the node gets no notification; its one-shot watch is used up
      // nevertheless.
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

  /** Encodes the notification once for all receivers. */
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
