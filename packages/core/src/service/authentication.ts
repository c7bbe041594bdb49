import { AuthPacket, codes, errorCodes, type Id, type Reader, type TypeOf } from '@zabra/protocol'
import type { Authenticator } from '../ports.ts'
import type { ClientConnection } from './connection.ts'
import type { Replies } from './replies.ts'
import type { ServerStats } from './server-stats.ts'
import type { Trace } from './trace.ts'

interface Parts {
  readonly authenticator: Authenticator
  readonly replies: Replies
  readonly stats: ServerStats
  readonly trace: Trace
}

const { ok, authFailed, sessionClosedRequireSaslAuth } = errorCodes
const noToken = new Uint8Array(0)

/** Handles `auth` and `sasl` requests, which are answered as soon as they are read. */
export class Authentication {
  private readonly parts: Parts
  private readonly requiredSchemes: readonly string[]

  constructor(parts: Parts, requiredSchemes: readonly string[]) {
    this.parts = parts
    this.requiredSchemes = requiredSchemes
  }

  /** False where the proof failed, was answered, and the connection must end. */
  accept(connection: ClientConnection, xid: number, type: number, body: Reader): boolean {
    return type === codes.sasl
      ? this.acceptSasl(connection, xid, body.buffer() ?? noToken)
      : this.acceptAuth(connection, xid, AuthPacket.read(body))
  }

  /** Whether it has proven what must be proven before anything else. */
  isPermitted({ identities }: ClientConnection): boolean {
    const { requiredSchemes } = this
    if (requiredSchemes.length === 0) return true
    return identities.some(({ scheme }) => requiredSchemes.includes(scheme ?? ''))
  }

  private acceptAuth(
    connection: ClientConnection,
    xid: number,
    { scheme, auth }: TypeOf<typeof AuthPacket>,
  ): boolean {
    const { authenticator, replies } = this.parts
    const { address } = connection.link
    const proven = scheme === null ? undefined : authenticator.authenticate(scheme, auth, address)
    if (proven === undefined) {
      this.failed(connection, scheme)
      replies.inline(connection, xid, authFailed)
      return false
    }
    addIdentities(connection, proven)
    replies.inline(connection, xid, ok)
    return true
  }

  private acceptSasl(connection: ClientConnection, xid: number, token: Uint8Array): boolean {
    const { authenticator, replies } = this.parts
    connection.sasl ??= authenticator.startSasl?.()
    if (connection.sasl === undefined) {
      // No SASL here: success with nothing to say, as Apache answers without a login section.
      replies.inline(connection, xid, ok, (out) => out.buffer(null))
      return true
    }
    const answer = connection.sasl.answer(token)
    if (answer !== undefined) {
      if (answer.identities !== undefined) addIdentities(connection, answer.identities)
      replies.inline(connection, xid, ok, (out) => out.buffer(answer.token))
      return true
    }
    this.failed(connection, 'sasl')
    const isRequired = this.requiredSchemes.includes('sasl')
    const stays = authenticator.keepsSaslFailed === true && !isRequired
    const refusal = isRequired ? sessionClosedRequireSaslAuth : authFailed
    replies.inline(connection, xid, stays ? ok : refusal, (out) => out.buffer(null))
    return stays
  }

  private failed({ link }: ClientConnection, scheme: string | null): void {
    this.parts.stats.authFailures++
    this.parts.trace({ type: 'authFailed', address: link.address, scheme })
  }
}

function addIdentities(connection: ClientConnection, proven: readonly Id[]): void {
  const known = connection.identities
  const isNew = (id: Id): boolean =>
    !known.some((other) => other.scheme === id.scheme && other.id === id.id)
  // A new list: requests already prepared keep the identities they were read with.
  connection.identities = [...known, ...proven.filter(isNew)]
}
