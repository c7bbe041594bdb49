import type { Stat } from '../stat.ts'

/** An event of `watch()`. */
export interface Change {
  /**
   * `initial` describes an existing node; `children` is reported of the watched node only.
   * `sessionExpired` is no change of a node: watching continues in the next session, and reports
   * what it finds then.
   */
  readonly type: 'initial' | 'created' | 'changed' | 'deleted' | 'children' | 'sessionExpired'
  readonly path: string
  /** The zxid of the transaction, if the server reported it. */
  readonly zxid: bigint | undefined
  /**
   * The stat, if the node was read; undefined if the change came as a mere notification, or the
   * node is gone.
   */
  readonly stat: Stat | undefined
  /**
   * Other changes of the node before this one may not have been reported. Nodes that came and went
   * before anybody read them do not count.
   */
  readonly missed: boolean
}

/** A change of a node's children says nothing about the node itself, and vice versa. */
export function childrenOf(path: string): string {
  return `${path}\0`
}

/** The end of a session is reported independently of nodes. */
function keyOf({ type, path }: Change): string {
  if (type === 'sessionExpired') return `${path}\0\0`
  return type === 'children' ? childrenOf(path) : path
}

interface Entry {
  readonly change: Change
  /** The reader does not know the node. */
  readonly isNew: boolean
}

/**
 * Unread changes: one per node, however slow the reader is. Of nodes that came and went unread only
 * the last deletion stays, so there are never more changes than nodes that exist, nodes that the
 * reader knows, and this one. It stays because its transaction may have changed other nodes that
 * were not reported yet: a mirror of the whole tree has to wait for them.
 */
export class ChangeQueue {
  private readonly entries = new Map<string, Entry>()
  /** The index of that last deletion. */
  private passing: string | undefined

  get size(): number {
    return this.entries.size
  }

  /** `isNew`: the reader does not know the node, or knows that it is gone. */
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

/** The latest state counts; a node that was new to the reader still is. */
function merged({ change: before, isNew }: Entry, change: Change): Entry {
  const isStillCreated = before.type === 'created' && change.type === 'changed'
  const type = isStillCreated ? 'created' : change.type
  return { change: { ...change, type, missed: true }, isNew }
}
