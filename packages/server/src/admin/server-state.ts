import type { ServerView } from '../server-view.ts'

/** The role as monitoring tools know it: they look for this very word. */
export function serverState(_view: ServerView): 'standalone' {
  return 'standalone'
}

/** As ZooKeeper counts: the root twice, once as `/` and once as the empty path. */
export function nodeCount(view: ServerView): number {
  return view.peer.db.tree.size + 1
}

export function uptimeMs(view: ServerView): number {
  return Date.now() - view.startedWallMs
}
