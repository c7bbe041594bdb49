import { Guesses, grantsEach } from '@zabra/core'
import { encodeText, permissions, type Id } from '@zabra/protocol'
import type { IncomingMessage } from 'node:http'
import { socketIdentities } from '../auth/x509.ts'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerView } from '../view/server-view.ts'

export interface Refusal {
  readonly status: number
  readonly error: string
}

/**
 * Decides who may use commands that change the server or reveal its content: the super user, the
 * identities of `admin.identities`, and those to whom the root ACL grants all permissions by name.
 * Permissions of the root ACL for world do not count, since everybody has them.
 */
export class Authorization {
  private readonly view: ServerView
  private readonly guesses = new Guesses()

  constructor(view: ServerView) {
    this.view = view
  }

  /** Checks `Authorization: SCHEME AUTH`; returns the reason if the request is refused. */
  async refuse(request: IncomingMessage): Promise<Refusal | undefined> {
    const { authorization } = request.headers
    if (authorization === undefined || authorization.trim() === '') {
      return { status: 401, error: 'Auth info is missing for the command' }
    }
    const address = addressOf(request)
    const waitMs = this.guesses.waitMs(address, performance.now())
    if (waitMs === undefined) return { status: 429, error: 'Too many wrong passwords; try later' }
    if (waitMs > 0) await delay(waitMs)
    const refusal = this.refuseUnlessAllowed(request, authorization, address)
    if (refusal === undefined) return undefined
    this.view.peer.stats.failedGuesses++
    this.guesses.failed(address, performance.now(), waitMs > 0)
    return refusal
  }

  private refuseUnlessAllowed(
    { socket }: IncomingMessage,
    authorization: string,
    address: string,
  ): Refusal | undefined {
    const { scheme, token } = parseAuthorization(authorization)
    const { authenticator, config } = this.view
    const identities =
      scheme === 'x509'
        ? socketIdentities(socket, config.x509SuperUser)
        : authenticator.authenticate(scheme, token, address)
    if (identities === undefined) return { status: 401, error: 'Not authenticated' }
    return mayAdminister(this.view, identities)
      ? undefined
      : { status: 403, error: 'Not authorized' }
  }
}

/** Whether one of these identities is an administrator's. */
export function mayAdminister({ config, peer }: ServerView, identities: readonly Id[]): boolean {
  const admins = config.adminAccess.identities
  const isAdmin = ({ scheme, id }: Id): boolean =>
    scheme === 'super' || admins.some((other) => other.scheme === scheme && other.id === id)
  const { db } = peer
  return (
    identities.some(isAdmin) || grantsEach(db.aclOf(db.tree.find('/')), permissions.all, identities)
  )
}

/** Splits `SCHEME AUTH`. */
export function parseAuthorization(header: string): {
  readonly scheme: string
  readonly token: Uint8Array | null
} {
  const [, scheme = '', auth] = /^(\S+)(?:\s+(.*))?$/s.exec(header.trim()) ?? []
  return { scheme, token: auth === undefined ? null : encodeText(auth) }
}

/**
 * The address of a client, without the prefix `::ffff:` of IPv4 clients on a socket for both
 * families.
 */
export function addressOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=.*\.)/, '')
}
