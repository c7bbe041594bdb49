import type { X509Certificate } from 'node:crypto'
import type { Id } from '@zabra/protocol'
import { subjectOf } from '../tls/distinguished-name.ts'

/** Who has presented a certificate that was checked. */
export function x509Identities(certificate: X509Certificate, superUser: string | undefined): Id[] {
  const id = subjectOf(certificate.raw)
  const identity = { scheme: 'x509', id }
  return id === superUser ? [{ scheme: 'super', id }, identity] : [identity]
}
