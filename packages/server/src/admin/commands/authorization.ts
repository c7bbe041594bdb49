import { allowsEach } from '@zabra/core'
import { encodeText, permissions } from '@zabra/protocol'
import type { IncomingMessage } from 'node:http'
import { socketIdentities } from '../../auth/x509.ts'
import type { ServerView } from '../../server-view.ts'

export interface Refusal {
  readonly status: number
  readonly error: string
}

/**
 * Whether a request may use commands that read or replace everything: `Authorization: SCHEME AUTH`
 * must prove identities that have every permission on the root.
 */
export function refuseUnlessAuthorized(
  view: ServerView,
  request: IncomingMessage,
): Refusal | undefined {
  const { authorization } = request.headers
  if (authorization === undefined || authorization.trim() === '') {
    return { status: 401, error: 'Auth info is missing for the command' }
  }
  const [, scheme = '', auth] = /^(\S+)(?:\s+(.*))?$/s.exec(authorization.trim()) ?? []
  const token = auth === undefined ? null : encodeText(auth)
  const address = (request.socket.remoteAddress ?? '').replace(/^::ffff:(?=.*\.)/, '')
  const identities =
    scheme === 'x509'
      ? socketIdentities(request.socket, view.config.x509SuperUser)
      : view.authenticator.authenticate(scheme, token, address)
  if (identities === undefined) return { status: 401, error: 'Not authenticated' }
  const { db } = view.peer
  const acl = db.aclOf(db.tree.find('/'))
  return allowsEach(db.options.acl, acl, permissions.all, identities)
    ? undefined
    : { status: 403, error: 'Not authorized' }
}
