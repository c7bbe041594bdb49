import type { Stat } from '../stat.ts'

/** What `watch()` tells of a node. */
export interface Change {
  /**
   * `initial` is how the node was found; `children` is told of the watched node only. `sessionExpired` is
   * no change of a node: the watching goes on in the next session, and says what it finds then.
   */
  readonly type: 'initial' | 'created' | 'changed' | 'deleted' | 'children' | 'sessionExpired'
  readonly path: string
  /** Of the transaction, where the server told. */
  readonly zxid: bigint | undefined
  /** As it was found; undefined where the change came as a mere notification, or nothing is there. */
  readonly stat: Stat | undefined
  /**
   * There may have been other changes of the node before this one that nobody was told of. A node
   * that came and went before anybody read of it does not count.
   */
  readonly missed: boolean
}

/** A change of a node's children leaves open what became of the node itself, and the other way round. */
export function childrenOf(path: string): string {
  return `${path}\0`
}

/** The end of a session is told beside what became of the node. */
function keyOf({ type, path }: Change): string {
  if (type === 'sessionExpired') return `${path}\0\0`
  return type === 'children' ? childrenOf(path) : path
}

interface Entry {
  readonly change: Change
  /** The reader does not know of the node. */
  readonly isNew: boolean
}

/**
 * Changes that wait for their reader: one for each node, however slow the reader is. Of nodes that
 * came and went unread only the last stays, so that there are never more changes than nodes that
 * exist, nodes that the reader knows, and this one. It stays because its transaction may have
 * changed other nodes, of which nobody was told yet: a mirror of the whole tree has to wait.
 */
export class ChangeQueue {
  private readonly entries = new Map<string, Entry>()
  /** Where the last of those is that came and went. */
  private passing: string | undefined

  get size(): number {
    return this.entries.size
  }

  /** `isNew` says that nobody was told of the node, or last that it is gone. */
  push(change: Change, isNew: boolean): void {
    const { type } = change
    const key = keyOf(change)
    const before = this.entries.get(key)
    const entry = before === undefined ? { change, isNew } : merged(before, change)
    this.remove(key)
    if (entry.isNew && type === 'deleted') {
      if (this.passing !== undefined) this.remove(this.passing)
      this.passing = key
    }
    this.entries.set(key, entry)
  }

  shift(): Change | undefined {
    const first = this.entries.entries().next()
    if (first.done === true) return undefined
    const [key, { change }] = first.value
    this.remove(key)
    return change
  }

  private remove(key: string): void {
    this.entries.delete(key)
    if (this.passing === key) this.passing = undefined
  }
}

/** The last state counts; a node that was new to the reader still is. */
function merged({ change: before, isNew }: Entry, change: Change): Entry {
  const isStillCreated = before.type === 'created' && change.type === 'changed'
  const type = isStillCreated ? 'created' : change.type
  return { change: { ...change, type, missed: true }, isNew }
}
