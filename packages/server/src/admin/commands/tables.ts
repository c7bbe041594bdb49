import type { ServerView } from '../../view/server-view.ts'
import { Members, type Json } from '../json.ts'
import { atMost } from '../slices.ts'
import { sessionOf } from '../words/watches.ts'
import type { Answer } from './command.ts'

/** Sessions by expiry time, on the server's own clock, with their ephemeral nodes. */
export function dump(view: ServerView): Answer {
  const { db } = view.peer
  const { tree } = db
  const owners = [...tree.sessionsWithEphemerals()]
  return {
    expiry_time_to_session_ids: members(byExpiry(view), ([timeMs, ids]) => [timeMs, ids]),
    session_id_to_ephemeral_paths: members(owners, (id) => [
      id,
      map(tree.ephemeralsOf(id), (node) => tree.pathOf(node)),
    ]),
  }
}

/** Only sessions whose expiry this server decides, including its own local ones. */
function byExpiry({ peer }: ServerView): [timeMs: number, ids: bigint[]][] {
  const { sessions, localSessions } = peer
  if (localSessions === undefined) return sessions.byExpiry()
  const all = new Map<number, bigint[]>()
  for (const [timeMs, ids] of [...localSessions.byExpiry(), ...sessions.byExpiry()]) {
    all.set(timeMs, [...(all.get(timeMs) ?? []), ...ids])
  }
  return [...all].toSorted(([a], [b]) => a - b)
}

/** Watches on data and existence only, as in ZooKeeper. */
export function watches(view: ServerView): Answer {
  const { data } = view.peer.db.watches
  const all = atMost(data.watchers(), data.watcherCount)
  return {
    session_id_to_watched_paths: members(all, ([watcher, paths]) => [
      sessionOf(watcher),
      atMost(paths, paths.size),
    ]),
  }
}

export function watchesByPath(view: ServerView): Answer {
  const { data } = view.peer.db.watches
  const all = atMost(data.paths(), data.pathCount)
  return {
    path_to_session_ids: members(all, ([path, watchers]) => [path, map(watchers, sessionOf)]),
  }
}

function members<T>(
  items: Iterable<T>,
  make: (item: T) => readonly [string | number | bigint, Json],
): Members {
  const entries = map(items, (item) => {
    const [name, value] = make(item)
    return [String(name), value] as const
  })
  return new Members(entries)
}

function* map<T, U>(items: Iterable<T>, make: (item: T) => U): IterableIterator<U> {
  for (const item of items) yield make(item)
}
