import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { ServerConfig } from '../config/config.ts'
import type { Refusal } from './authorization.ts'

/** Content types that an HTML form can send without a preflight request. */
const formTypes = /^(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/i

/**
 * Keeps web pages from using the admin port through the browser of somebody who can reach it. Such
 * a page has a foreign origin or, if its own host name resolves to our address, a foreign Host
 * header.
 */
export class BrowserGuard {
  private readonly hosts: ReadonlySet<string>

  constructor({ admin, adminAccess, ensemble }: ServerConfig) {
    const members = [...(ensemble?.servers.values() ?? [])]
    this.hosts = new Set(
      [
        'localhost',
        hostname(),
        admin.address,
        ...members.flatMap(({ addresses }) => addresses.map(({ host }) => host)),
        ...adminAccess.allowedHosts,
      ].map((host) => host.toLowerCase()),
    )
  }

  /** The reason to refuse a request; undefined if it is allowed. */
  refuse({ method, headers }: IncomingMessage): Refusal | undefined {
    const foreign = this.refuseHost({ headers })
    if (foreign !== undefined) return foreign
    const { host = '', origin } = headers
    if (origin !== undefined && !isOriginOf(origin, host)) {
      return { status: 403, error: 'Pages of another origin may not use this port' }
    }
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return { status: 403, error: 'Pages of another origin may not use this port' }
    }
    const type = headers['content-type']
    if (method === 'POST' && type !== undefined && formTypes.test(type)) {
      return { status: 415, error: `Content-Type ${type.split(';', 1)[0]} is not taken` }
    }
    return undefined
  }

  /** Checks only the host: a link on any page may lead to a page of ours. */
  refuseHost({ headers }: Pick<IncomingMessage, 'headers'>): Refusal | undefined {
    return this.isOurs(headers.host ?? '')
      ? undefined
      : { status: 403, error: 'Host is not one of this server; see admin.allowedHosts' }
  }

  /** An IP address always leads to this server; a host name may be made to resolve to it. */
  private isOurs(host: string): boolean {
    const [, bracketed, plain = ''] = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/.exec(host) ?? []
    const name = (bracketed ?? plain).toLowerCase()
    return isIP(name) !== 0 || name.endsWith('.localhost') || this.hosts.has(name)
  }
}

function isOriginOf(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}
