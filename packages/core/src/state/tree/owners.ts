import { containerOwner } from '@zabra/protocol'
import { isTtlOwner, type NodeId } from './layout.ts'

const noIds: ReadonlySet<NodeId> = new Set()

/** Which znodes are ephemeral, and whose; which are containers; which have a time to live. */
export class Owners {
  readonly containers = new Set<NodeId>()
  readonly ttls = new Set<NodeId>()
  /** How many znodes are ephemeral. */
  ephemerals = 0
  private readonly bySession = new Map<bigint, Set<NodeId>>()
  private readonly extendedTypes: boolean

  constructor(extendedTypes: boolean) {
    this.extendedTypes = extendedTypes
  }

  /** The session a stored owner names; 0n for containers, TTL nodes and persistent ones. */
  sessionOf(owner: bigint): bigint {
    if (owner === 0n || owner === containerOwner) return 0n
    return this.extendedTypes && isTtlOwner(owner) ? 0n : owner
  }

  ephemeralsOf(session: bigint): ReadonlySet<NodeId> {
    return this.bySession.get(session) ?? noIds
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
      if (ids?.delete(id) === true) this.ephemerals--
      if (ids?.size === 0) this.bySession.delete(owner)
    }
  }
}
