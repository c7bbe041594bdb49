import type { X509Certificate } from 'node:crypto'
import { lookup, reverse } from 'node:dns/promises'
import { isIP } from 'node:net'
import { checkServerIdentity, type TLSSocket } from 'node:tls'
import { plainAddress } from '../base/plain-address.ts'

/** Whether a certificate names a host, by the rules for HTTPS. */
export function namesHost(certificate: X509Certificate, host: string): boolean {
  return checkServerIdentity(host, certificate.toLegacyObject()) === undefined
}

/**
 * Why a certificate does not fit its connection: it must name the address, one of `hosts` or, if
 * that is allowed, the name of the address in DNS. Undefined if it fits.
 */
export async function nameProblem(
  certificate: X509Certificate,
  socket: TLSSocket,
  options: { readonly hosts: readonly string[]; readonly mayLookUp: boolean },
): Promise<string | undefined> {
  if (options.hosts.some((host) => namesHost(certificate, host))) return undefined
  const address = plainAddress(socket.remoteAddress)
  if (await namesAddress(certificate, address, options.mayLookUp)) return undefined
  const wanted = options.hosts.length === 0 ? address : `${address} or a member of the ensemble`
  return `its certificate is for ${namesOf(certificate)}, not for ${wanted}`
}

/**
 * Why a certificate does not belong to the server that the connection claims to come from: it must
 * name one of the server's `hosts`, or the address of the connection if one of them resolves to
 * that. Undefined if it does.
 */
export async function claimProblem(
  certificate: X509Certificate,
  socket: TLSSocket,
  options: {
    readonly server: bigint
    readonly hosts: readonly string[]
    readonly mayLookUp: boolean
  },
): Promise<string | undefined> {
  const { server, hosts, mayLookUp } = options
  if (hosts.some((host) => namesHost(certificate, host))) return undefined
  const address = plainAddress(socket.remoteAddress)
  if (await namesAddress(certificate, address, mayLookUp)) {
    const resolved = await Promise.all(
      hosts.map((host) => lookup(host, { all: true }).catch(() => [])),
    )
    if (resolved.flat().some((found) => plainAddress(found.address) === address)) return undefined
  }
  const claim = `it claims to be server ${server} at ${hosts.join(' or ')}`
  return `${claim}, but its certificate is for ${namesOf(certificate)}`
}

/** Whether a certificate names an address or, if `mayLookUp`, the name that DNS has for the address. */
async function namesAddress(
  certificate: X509Certificate,
  address: string,
  mayLookUp: boolean,
): Promise<boolean> {
  if (isIP(address) === 0) return false
  if (namesHost(certificate, address)) return true
  if (!mayLookUp) return false
  const names = await reverse(address).catch(() => [])
  return names.some((name) => namesHost(certificate, name))
}

function namesOf(certificate: X509Certificate): string {
  return (certificate.subjectAltName ?? certificate.subject).replaceAll('\n', ', ')
}
