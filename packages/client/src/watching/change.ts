import type { Stat } from '@zabra/protocol'

/** What `watch()` tells of a node. */
export interface Change {
  /** `initial` is how the node was found; `children` is told of the watched node only. */
  readonly type: 'initial' | 'created' | 'changed' | 'deleted' | 'children'
  readonly path: string
  /** Of the transaction, where the server told. */
  readonly zxid: bigint | undefined
  /** As it was found; undefined where the change came as a mere notification, or nothing is there. */
  readonly stat: Stat | undefined
  /** There may have been other changes before this one that nobody was told of. */
  readonly missed: boolean
}

/** Changes that wait for their reader: one for each node, however slow the reader is. */
export class ChangeQueue {
  private readonly changes = new Map<string, Change>()

  get size(): number {
    return this.changes.size
  }

  push(change: Change): void {
    const key = change.type === 'children' ? `${change.path}\0` : change.path
    const before = this.changes.get(key)
    this.changes.delete(key)
    this.changes.set(key, before === undefined ? change : merged(before, change))
  }

  shift(): Change | undefined {
    const first = this.changes.entries().next()
    if (first.done === true) return undefined
    const [key, change] = first.value
    this.changes.delete(key)
    return change
  }
}

/** The last state counts; a node that was new to the reader still is. */
function merged(before: Change, change: Change): Change {
  const isStillNew = before.type === 'created' && change.type === 'changed'
  return { ...change, type: isStillNew ? 'created' : change.type, missed: true }
}
