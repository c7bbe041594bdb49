import type { ServerView } from './server-view.ts'

/** The role as monitoring tools know it: they look for these very words. */
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

/** As ZooKeeper counts: the root twice, once as `/` and once as the empty path. */
export function nodeCount(view: ServerView): number {
  return view.peer.db.tree.size + 1
}

export function uptimeMs(view: ServerView): number {
  return Date.now() - view.startedWallMs
}
