import { ClientConnection } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { hexDigits } from '../java-text.ts'
import { atMost } from '../slices.ts'

// As in ZooKeeper, these show watches on data and existence only, not those on children.

/** `wchs`: the number of watches. */
export function* wchs(view: ServerView): IterableIterator<string> {
  const { data } = view.peer.db.watches
  yield `${data.watcherCount} connections watching ${data.pathCount} paths\n`
  yield `Total watches:${data.size}\n`
}

/** `wchc`: the watched paths of each session. */
export function* wchc(view: ServerView): IterableIterator<string> {
  const { data } = view.peer.db.watches
  for (const [watcher, paths] of atMost(data.watchers(), data.watcherCount)) {
    yield `0x${hexDigits(sessionOf(watcher))}\n`
    for (const path of atMost(paths, paths.size)) yield `\t${path}\n`
  }
  yield '\n'
}

/** `wchp`: the sessions that watch each path. */
export function* wchp(view: ServerView): IterableIterator<string> {
  const { data } = view.peer.db.watches
  for (const [path, watchers] of atMost(data.paths(), data.pathCount)) {
    yield `${path}\n`
    for (const watcher of watchers) yield `\t0x${hexDigits(sessionOf(watcher))}\n`
  }
  yield '\n'
}

export function sessionOf(watcher: object): bigint {
  return watcher instanceof ClientConnection ? watcher.sessionId : 0n
}
