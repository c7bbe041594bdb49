import type { TlsFiles } from '../connection/target.ts'
import { loopback } from './member.ts'

export interface DevCertificates {
  /** The lines of zoo.cfg of a server, by its number. */
  readonly linesOf: (server: number, clientPort: number) => readonly string[]
  /** Key and certificate of a client are in one file. */
  readonly clientFiles: TlsFiles
}

const days = 365
const client = 'dev'

/**
 * Writes an authority, and certificates for servers on the loopback interface and for one client. A
 * directory that is kept for another run keeps its authority; certificates are replaced.
 */
export async function issueCertificates(
  directory: string,
  count: number,
): Promise<DevCertificates> {
  // Loaded with the server's code, which `zabra dev` does not need otherwise.
  const { initTls, tlsConfigLines } = await import('@zabra/server')
  const nameOf = (server: number): string => `server-${server}`
  const files = initTls({
    directory,
    servers: Array.from({ length: count }, (_, index) => ({
      name: nameOf(index + 1),
      hosts: ['localhost', loopback],
    })),
    clients: [client],
    organization: 'zabra dev',
    days,
    authorityDays: 10 * days,
    renew: true,
  })
  const pathOf = (wanted: 'authority' | 'client'): string | undefined =>
    files.find(({ what }) => what === wanted)?.path
  return {
    linesOf: (server, clientPort) => tlsConfigLines(directory, nameOf(server), clientPort),
    clientFiles: { ca: pathOf('authority'), cert: pathOf('client') },
  }
}
