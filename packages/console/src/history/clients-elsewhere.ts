/** The clients of the other members: a server knows only its own. */
import { signal } from '@preact/signals'
import { getFrom, type Session } from '../api.ts'
import { server, servers } from '../servers.ts'
import { clientText, type PastChange } from './change.ts'

const sessionsMax = 1000
/** Not to ask again and again for sessions that are over. */
const pauseMs = 5000

const elsewhere = signal<ReadonlyMap<string, NonNullable<PastChange['client']>>>(new Map())
let askedMs = -Infinity

/** The client behind a change in words, as far as any server knows it. */
export function byText({ client, session }: PastChange): string | undefined {
  return clientText(client ?? (session === null ? null : (elsewhere.value.get(session) ?? null)))
}

/** Asks the other members, if a change was made by a session that is not known yet. */
export async function learnClients(changes: readonly PastChange[]): Promise<void> {
  const isUnknown = changes.some(
    ({ client, session }) => client === null && session !== null && !elsewhere.value.has(session),
  )
  if (!isUnknown || performance.now() - askedMs < pauseMs) return
  askedMs = performance.now()
  const others = servers.value.filter(({ origin }) => origin !== server.value.origin)
  const answers = await Promise.allSettled(
    others.map(({ origin }) =>
      getFrom<{ sessions: readonly Session[] }>(origin, '/sessions', { limit: sessionsMax }),
    ),
  )
  const known = new Map(elsewhere.value)
  for (const answer of answers) {
    if (answer.status === 'rejected') continue
    for (const { id, connection, isOfApi } of answer.value.sessions) {
      if (connection === null) continue
      const { address, identities } = connection
      known.set(id, { address, identities, isOfApi })
    }
  }
  elsewhere.value = known
}
