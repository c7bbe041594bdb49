import { changesOf, type Change } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'

type Listener = (change: Change) => void

/** Reports changes as they happen. It costs nothing without listeners. */
export class LiveChanges {
  private readonly view: ServerView
  private readonly listeners = new Set<Listener>()

  constructor(view: ServerView) {
    this.view = view
  }

  /** Calls back right before each change is applied, until the returned function is called. */
  listen(listener: Listener): () => void {
    const { listeners, view } = this
    listeners.add(listener)
    view.peer.onCommit = (header, txn) => {
      for (const change of changesOf(header, txn)) for (const each of listeners) each(change)
    }
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) view.peer.onCommit = undefined
    }
  }
}
