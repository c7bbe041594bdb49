import { shown } from '../calls/arguments.ts'
import type { ServerAddress } from '../host.ts'

const defaultPort = 2181

/** Servers, and the chroot of a client; '' is the root. */
export interface ConnectString {
  readonly servers: readonly ServerAddress[]
  readonly chroot: string
}

/**
 * Parses `host:port,host:port/chroot`; the port is optional, and IPv6 addresses are in brackets.
 */
export function parseServers(text: string | readonly string[]): ConnectString {
  if (!isText(text))
    throw new TypeError(`servers are 'host:port,host:port/chroot' or a list, not ${shown(text)}`)
  const all = typeof text === 'string' ? text : text.join(',')
  const slash = all.indexOf('/')
  const list = slash < 0 ? all : all.slice(0, slash)
  const chroot = slash < 0 ? '' : all.slice(slash).replace(/\/+$/, '')
  // Legal as the name of a node, but hardly ever meant.
  if (/,[^,/]*:\d+(?:\/|$)/.test(chroot) || (typeof text !== 'string' && chroot.includes(',')))
    throw new TypeError(`a chroot comes once, after the last server: '${all}'`)
  const servers = list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseServer)
  if (servers.length === 0) throw new TypeError(`no server in '${all}'`)
  return { servers, chroot }
}

/** Parses a new list for a running client, which keeps its chroot. */
export function parseOtherServers(
  text: string | readonly string[],
  ownChroot: string,
): readonly ServerAddress[] {
  const { servers, chroot } = parseServers(text)
  if (chroot !== '' && chroot !== ownChroot)
    throw new TypeError(`a client stays below its chroot, '${ownChroot}': '${chroot}' is another`)
  return servers
}

export function isSameServer(one: ServerAddress, other: ServerAddress): boolean {
  return one.host === other.host && one.port === other.port
}

export function formatServer({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function parseServer(text: string): ServerAddress {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || port < 1 || port > 65_535)
    throw new TypeError(`'${text}' is not a server; 'host:port' is`)
  return { host, port }
}

function isText(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string')
  return typeof value === 'string'
}
