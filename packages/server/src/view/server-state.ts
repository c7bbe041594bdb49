import type { ServerView } from './server-view.ts'

/** The role in the exact words that monitoring tools look for. */
export function serverState(view: ServerView): string {
  if (view.peer.isReadOnly) return 'read-only'
  switch (view.ensembleState) {
    case undefined:
      return 'standalone'
    case 'leading':
      return 'leader'
    case 'following':
      return 'follower'
    case 'observing':
      return 'observer'
    case 'looking':
      return 'looking'
  }
}

/** Counted as in ZooKeeper: the root twice, as `/` and as the empty path. */
export function nodeCount(view: ServerView): number {
  return view.peer.db.tree.size + 1
}

export function uptimeMs(view: ServerView): number {
  return Date.now() - view.startedWallMs
}
