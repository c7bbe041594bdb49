import type { ClientConnection } from '@zabra/core'
import type { SessionClientJson } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import { maySeePrivate, type Role } from '../roles.ts'
import { InternalClient } from '../internal-client.ts'
import { array, boolean, nullable, object, text } from '../schema.ts'

export const sessionClientSchema = {
  ...nullable(
    object({
      address: text,
      identities: { ...array(text), description: 'Without password hashes' },
      isOfApi: boolean,
    }),
  ),
  description: 'The client of the session, if this server knows it and the caller may',
}

/** Finds the client behind a session among those that this server serves or served. */
export class SessionClients {
  private readonly view: ServerView
  private readonly isAllowed: boolean
  private readonly found = new Map<bigint, SessionClientJson | null>()
  private connected: ReadonlyMap<bigint, ClientConnection> | undefined

  constructor(view: ServerView, role: Role) {
    this.view = view
    this.isAllowed = maySeePrivate(view, role)
  }

  of(session: bigint): SessionClientJson | null {
    if (!this.isAllowed) return null
    let client = this.found.get(session)
    if (client === undefined) {
      client = this.lookUp(session)
      this.found.set(session, client)
    }
    return client
  }

  private lookUp(session: bigint): SessionClientJson | null {
    const { connections, sessionEnds } = this.view.peer
    this.connected ??= new Map(Array.from(connections, (each) => [each.sessionId, each]))
    const connection = this.connected.get(session)
    if (connection !== undefined) {
      const { link, identities } = connection
      return {
        address: link.address,
        identities: identities.map(identityText),
        isOfApi: link instanceof InternalClient,
      }
    }
    const address = sessionEnds.endOf(session)?.connections.at(-1)?.address
    return address === undefined ? null : { address, identities: [], isOfApi: false }
  }
}

/** The part of a digest after the user name is a hash of the password. */
export function identityText({ scheme, id }: ClientConnection['identities'][number]): string {
  return `${scheme}:${(scheme === 'digest' ? id?.split(':')[0] : id) ?? ''}`
}
