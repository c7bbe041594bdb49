import { containerOwner } from '@zabra/protocol'
import { SortedTexts } from '../../base/sorted-texts.ts'
import { isTtlOwner, type NodeId } from './layout.ts'

/** Up to this many paths are searched one by one. */
const sortedCountMin = 256
const noIds: ReadonlySet<NodeId> = new Set()

/** The ephemeral nodes of each session, the containers, and the nodes with a TTL. */
export class Owners {
  readonly containers = new Set<NodeId>()
  readonly ttls = new Set<NodeId>()
  /** The number of ephemeral znodes. */
  ephemerals = 0
  private readonly bySession = new Map<bigint, Set<NodeId>>()
  /** Sorted paths of the sessions that have many ephemerals and asked for some of them. */
  private readonly sortedPaths = new Map<bigint, SortedTexts>()
  private readonly extendedTypes: boolean
  private readonly pathOf: (id: NodeId) => string

  constructor(extendedTypes: boolean, pathOf: (id: NodeId) => string) {
    this.extendedTypes = extendedTypes
    this.pathOf = pathOf
  }

  /** The session of a stored owner; 0n for container, TTL and persistent nodes. */
  sessionOf(owner: bigint): bigint {
    if (owner === 0n || owner === containerOwner) return 0n
    return this.extendedTypes && isTtlOwner(owner) ? 0n : owner
  }

  ephemeralsOf(session: bigint): ReadonlySet<NodeId> {
    return this.bySession.get(session) ?? noIds
  }

  /** The paths of a session's ephemerals that start with `prefix`. */
  *ephemeralPaths(session: bigint, prefix: string): IterableIterator<string> {
    const ids = this.ephemeralsOf(session)
    let sorted = this.sortedPaths.get(session)
    if (sorted === undefined && prefix !== '' && ids.size >= sortedCountMin) {
      sorted = new SortedTexts(this.pathsOf(ids))
      this.sortedPaths.set(session, sorted)
    }
    if (sorted !== undefined) {
      yield* sorted.startingWith(prefix)
      return
    }
    for (const path of this.pathsOf(ids)) if (path.startsWith(prefix)) yield path
  }

  private *pathsOf(ids: Iterable<NodeId>): IterableIterator<string> {
    for (const id of ids) yield this.pathOf(id)
  }

  sessions(): IterableIterator<bigint> {
    return this.bySession.keys()
  }

  add(id: NodeId, owner: bigint): void {
    if (owner === 0n) return
    if (owner === containerOwner) {
      this.containers.add(id)
    } else if (this.sessionOf(owner) === 0n) {
      this.ttls.add(id)
    } else {
      let ids = this.bySession.get(owner)
      if (ids === undefined) this.bySession.set(owner, (ids = new Set()))
      ids.add(id)
      this.ephemerals++
      this.sortedPaths.get(owner)?.add(this.pathOf(id))
    }
  }

  remove(id: NodeId, owner: bigint): void {
    if (owner === 0n) return
    if (owner === containerOwner) {
      this.containers.delete(id)
    } else if (this.sessionOf(owner) === 0n) {
      this.ttls.delete(id)
    } else {
      const ids = this.bySession.get(owner)
      this.sortedPaths.get(owner)?.delete(this.pathOf(id))
      if (ids?.delete(id) === true) this.ephemerals--
      if (ids?.size === 0) {
        this.bySession.delete(owner)
        this.sortedPaths.delete(owner)
      }
    }
  }
}
