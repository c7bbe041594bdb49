/** Sessions with their connections, whichever server has these. */
import { get, getFrom, type Session } from '../api.ts'
import { server, servers, type Server } from '../servers.ts'
import { merged } from './merged.ts'

export const pageSize = 200

export interface SessionPage {
  readonly total: number
  readonly matching: number
  readonly offset: number
  readonly sessions: readonly Session[]
}

export interface PlacedSession extends Session {
  /** The server that it is connected to; undefined where none is known. */
  readonly at: Server | undefined
}

export interface PlacedPage extends SessionPage {
  readonly sessions: readonly PlacedSession[]
}

/**
 * Every server knows all sessions, but only its own connections: the others are asked for those of
 * the page. A filter by address is asked everywhere.
 */
export async function sessionsEverywhere(offset: number, filter: string): Promise<PlacedPage> {
  const own = server.value
  const others = servers.value.filter(({ origin }) => origin !== own.origin)
  const query = { offset, limit: pageSize, ...(filter === '' ? {} : { filter }) }
  const page = await get<SessionPage>('/sessions', query)
  const placed = page.sessions.map((session) => placedAt(session, own))
  const unplaced = placed.filter(({ at, isOfApi }) => at === undefined && !isOfApi)
  const ask =
    filter === '' ? { ids: unplaced.map(({ id }) => id).join(','), limit: pageSize } : query
  if (filter === '' && unplaced.length === 0) return { ...page, sessions: placed }
  const answers = await Promise.all(
    others.map(async (other) => {
      const found = await getFrom<SessionPage>(other.origin, '/sessions', ask).catch(
        () => undefined,
      )
      return (found?.sessions ?? []).map((session) => placedAt(session, other))
    }),
  )
  const sessions = merged(placed, answers.flat(), filter !== '')
  return { ...page, matching: Math.max(page.matching, sessions.length), sessions }
}

function placedAt(session: Session, at: Server): PlacedSession {
  return { ...session, at: session.connection === null ? undefined : at }
}
