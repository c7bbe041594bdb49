import type { ServerAddress } from '../host.ts'

const defaultPort = 2181

/** Servers, and the path below which a client lives; '' is the root. */
export interface ConnectString {
  readonly servers: readonly ServerAddress[]
  readonly chroot: string
}

/** `host:port,host:port/chroot`; the port may be left out, IPv6 addresses stand in brackets. */
export function parseServers(text: string | readonly string[]): ConnectString {
  const all = typeof text === 'string' ? text : text.join(',')
  const slash = all.indexOf('/')
  const list = slash < 0 ? all : all.slice(0, slash)
  const chroot = slash < 0 ? '' : all.slice(slash).replace(/\/+$/, '')
  const servers = list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseServer)
  if (servers.length === 0) throw new TypeError(`no server in '${all}'`)
  return { servers, chroot }
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
