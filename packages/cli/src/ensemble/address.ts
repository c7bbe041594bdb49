import { UsageError } from '../framework/errors.ts'
import { defaultServers } from '../connection/settings.ts'

/** The client port of a server. */
export interface Address {
  readonly host: string
  readonly port: number
}

const defaultPort = 2181

/** The servers of a connection string, without its chroot. */
export function addressesOf(servers: string): Address[] {
  return hostsOf(servers).split(',').map(parseAddress)
}

/** A connection string without its chroot. */
export function hostsOf(servers: string): string {
  const slash = servers.indexOf('/')
  const hosts = slash < 0 ? servers : servers.slice(0, slash)
  return hosts.trim() === '' ? defaultServers : hosts
}

/** `host`, `host:port` or `[IPv6]:port`. */
export function parseAddress(text: string): Address {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || port > 0xffff)
    throw new UsageError(`'${text}' is not the address of a server`, 'for example 10.0.0.1:2181')
  return { host, port }
}

export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
