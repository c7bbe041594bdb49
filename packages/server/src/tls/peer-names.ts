import type { X509Certificate } from 'node:crypto'
import { reverse } from 'node:dns/promises'
import { isIP } from 'node:net'
import { checkServerIdentity, type TLSSocket } from 'node:tls'
import { plainAddress } from '../base/plain-address.ts'

/** Whether a certificate names a host, by the rules for HTTPS. */
export function namesHost(certificate: X509Certificate, host: string): boolean {
  return checkServerIdentity(host, certificate.toLegacyObject()) === undefined
}

/**
 * Why a certificate does not fit the connection it came on: it must name the address, one of `hosts`, or,
 * where that is allowed, the name that DNS has for the address. Undefined where it fits.
 */
export async function nameProblem(
  certificate: X509Certificate,
  socket: TLSSocket,
  options: { readonly hosts: readonly string[]; readonly mayLookUp: boolean },
): Promise<string | undefined> {
  const address = plainAddress(socket.remoteAddress)
  if (address !== '' && namesHost(certificate, address)) return undefined
  if (options.hosts.some((host) => namesHost(certificate, host))) return undefined
  if (options.mayLookUp && isIP(address) !== 0) {
    const names = await reverse(address).catch(() => [])
    if (names.some((name) => namesHost(certificate, name))) return undefined
  }
  const named = certificate.subjectAltName ?? certificate.subject
  const wanted = options.hosts.length === 0 ? address : `${address} or a member of the ensemble`
  return `its certificate is for ${named.replaceAll('\n', ', ')}, not for ${wanted}`
}
