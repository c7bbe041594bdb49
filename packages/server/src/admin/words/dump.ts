import type { ServerView } from '../../view/server-view.ts'
import { dateText, hexDigits } from '../java-text.ts'
import { addressText } from './connections.ts'

/** `dump`: sessions and connections by expiry, and ephemeral nodes by session. */
export function* dump(view: ServerView): IterableIterator<string> {
  const { sessions, localSessions, db } = view.peer
  const toWall = Date.now() - performance.now()
  const expireAt = (monotonicMs: number): string => `expire at ${dateText(toWall + monotonicMs)}:\n`

  yield 'SessionTracker dump:\n'
  if (localSessions !== undefined) yield* sessionSets('Local Session', localSessions, expireAt)
  if (isLearner(view)) yield* globalSessions(db.sessions)
  else yield* sessionSets(localSessions ? 'Global Session' : 'Session', sessions, expireAt)

  const owners = [...db.tree.sessionsWithEphemerals()]
  yield 'ephemeral nodes dump:\n'
  yield `Sessions with Ephemerals (${owners.length}):\n`
  for (const id of owners) {
    yield `0x${hexDigits(id)}:\n`
    for (const node of db.tree.ephemeralsOf(id)) yield `\t${db.tree.pathOf(node)}\n`
  }

  const connections = connectionsByExpiry(view)
  yield 'Connections dump:\n'
  yield `Connections Sets (${connections.length})/(${view.sockets.size}):\n`
  for (const [timeMs, lines] of connections) {
    yield `${lines.length} ${expireAt(timeMs)}`
    yield* lines
  }
}

function* sessionSets(
  title: string,
  sessions: ServerView['peer']['sessions'],
  expireAt: (monotonicMs: number) => string,
): IterableIterator<string> {
  const buckets = sessions.byExpiry()
  yield `${title} Sets (${buckets.length})/(${sessions.size}):\n`
  for (const [timeMs, ids] of buckets) {
    yield `${ids.length} ${expireAt(timeMs)}`
    for (const id of ids) yield `\t0x${hexDigits(id)}\n`
  }
}

/** Only the leader knows when they expire. */
const isLearner = ({ ensembleState }: ServerView): boolean =>
  ensembleState !== undefined && ensembleState !== 'leading'

function* globalSessions(sessions: ReadonlyMap<bigint, number>): IterableIterator<string> {
  yield `Global Sessions(${sessions.size}):\n`
  const inOrder = [...sessions].toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [id, timeoutMs] of inOrder) yield `0x${hexDigits(id)}\t${timeoutMs}ms\n`
}

const stepMs = 10_000

/**
 * A connection ends with its session, or at the handshake timeout. The time is rounded up to a
 * tick, the interval at which ZooKeeper checks.
 */
function connectionsByExpiry(view: ServerView): [timeMs: number, lines: string[]][] {
  const { sessionlessTimeoutMs } = view.config
  const byExpiry = new Map<number, string[]>()
  for (const socket of view.sockets) {
    const { session, sessionId, openedMs } = socket.connection
    const exactMs = session?.expiresAtMs ?? openedMs + sessionlessTimeoutMs
    const timeMs = Math.ceil(exactMs / stepMs) * stepMs
    const line = `\tip: /${addressText(socket)} sessionId: 0x${hexDigits(sessionId)}\n`
    const lines = byExpiry.get(timeMs)
    if (lines === undefined) byExpiry.set(timeMs, [line])
    else lines.push(line)
  }
  return [...byExpiry].toSorted(([a], [b]) => a - b)
}
