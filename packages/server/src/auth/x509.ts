import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Id } from '@zabra/protocol'
import { subjectOf } from '../tls/distinguished-name.ts'

/** The identities that a verified certificate proves. */
export function x509Identities(certificate: X509Certificate, superUser: string | undefined): Id[] {
  const id = subjectOf(certificate.raw)
  const identity = { scheme: 'x509', id }
  return id === superUser ? [{ scheme: 'super', id }, identity] : [identity]
}

/** The same for a connection; undefined if it presented no valid certificate. */
export function socketIdentities(socket: Socket, superUser: string | undefined): Id[] | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  return certificate && x509Identities(certificate, superUser)
}
