import { isRefusal, noData } from '@zabra/client'
import { openClient } from '../connection/connect.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import { addressesOf, hostsOf, parseAddress, type Address } from './address.ts'

export interface Member {
  /** Undefined for a server that is known by its address only. */
  readonly id: string | undefined
  readonly role: 'participant' | 'observer' | undefined
  /** Its client port; undefined where the configuration names none. */
  readonly client: Address | undefined
  /** Its line of the configuration, without `server.ID=`. */
  readonly spec: string | undefined
}

export interface Members {
  readonly members: readonly Member[]
  /** The version of the configuration in hexadecimal; undefined outside an ensemble. */
  readonly version: string | undefined
  /** The configuration as the server holds it. */
  readonly text: string
}

/** The members by the ensemble's configuration; the servers of the connection string without one. */
export async function readMembers(
  settings: ConnectionSettings,
  signal: AbortSignal,
): Promise<Members> {
  const text = await readConfig(settings, signal)
  const members = parseMembers(text)
  if (members.length === 0) return { members: namedMembers(settings), version: undefined, text }
  const version = /^version=(.*)$/m.exec(text)?.[1]
  return { members: withClients(members, settings), version, text }
}

/**
 * Static configurations name the client port of no other server. Then it is that of the connection
 * string. Where several members share a host, only the connection string tells.
 */
function withClients(members: readonly Member[], settings: ConnectionSettings): readonly Member[] {
  if (members.every(({ client }) => client !== undefined)) return members
  const hosts = members.map(({ spec }) => hostOf(spec ?? ''))
  if (new Set(hosts).size < hosts.length) return namedMembers(settings)
  const named = addressesOf(settings.servers)
  return members.map((member, index) => {
    const host = hosts[index]!
    const same = named.find((address) => address.host === host)
    return { ...member, client: member.client ?? same ?? { host, port: named[0]!.port } }
  })
}

/** The servers of the connection string. */
export function namedMembers({ servers }: ConnectionSettings): Member[] {
  return addressesOf(servers).map((client) => ({
    id: undefined,
    role: undefined,
    client,
    spec: undefined,
  }))
}

async function readConfig(settings: ConnectionSettings, signal: AbortSignal): Promise<string> {
  // The configuration lies outside every chroot.
  const client = await openClient({ ...settings, servers: hostsOf(settings.servers) }, { signal })
  try {
    const { data } = await client.get('/zookeeper/config', { signal })
    return data === noData ? '' : Buffer.from(data).toString()
  } catch (error) {
    if (isRefusal(error, 'noNode') || isRefusal(error, 'noAuth')) return ''
    throw error
  } finally {
    await client.close()
  }
}

/** `server.1=host:2888:3888:participant;0.0.0.0:2181`, several addresses separated by `|`. */
export function parseMembers(text: string): Member[] {
  return text.split('\n').flatMap((line) => {
    const [, id, spec] = /^server\.(\d+)=(.+)$/.exec(line.trim()) ?? []
    if (id === undefined || spec === undefined) return []
    const [peers = '', client] = spec.split(';')
    const role = peers.includes(':observer') ? 'observer' : 'participant'
    return [{ id, role, spec, client: clientOf(peers, client) } as const]
  })
}

function clientOf(peers: string, client: string | undefined): Address | undefined {
  if (client === undefined || client === '') return undefined
  const address = /^\d+$/.test(client)
    ? { host: anyHost, port: Number(client) }
    : parseAddress(client)
  if (address.host !== anyHost && address.host !== '::') return address
  // A server that listens on every address is reached where its peers reach it.
  return { host: hostOf(peers), port: address.port }
}

/** The first host of the addresses for peers. */
function hostOf(peers: string): string {
  const host = /^(\[[^\]]+\]|[^:|]+)/.exec(peers)?.[1] ?? '127.0.0.1'
  return host.replaceAll(/^\[|\]$/g, '')
}

const anyHost = '0.0.0.0'
