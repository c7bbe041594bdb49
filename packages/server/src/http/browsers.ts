import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { ServerConfig } from '../config/config.ts'
import type { Refusal } from './authorization.ts'

/** What a form of a web page can send without asking the server first. */
const formTypes = /^(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/i

/**
 * Keeps web pages from using the admin port through the browser of somebody who can reach it. A
 * page has an origin that is not ours, or, where a name of its own leads to our address, asks for
 * a host that we do not have.
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

  /** Why a request is refused, if it is. */
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

  /** The same by the host alone: a link on any page may lead to a page of ours. */
  refuseHost({ headers }: Pick<IncomingMessage, 'headers'>): Refusal | undefined {
    return this.isOurs(headers.host ?? '')
      ? undefined
      : { status: 403, error: 'Host is not one of this server; see admin.allowedHosts' }
  }

  /** An address cannot be made to lead here by somebody else, as a name can. */
  private isOurs(host: string): boolean {
    const [, bracketed, plain = ''] = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/.exec(host) ?? []
    const name = (bracketed ?? plain).toLowerCase()
    return isIP(name) !== 0 || name.endsWith('.localhost') || this.hosts.has(name)
  }
}

function isOriginOf(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}
