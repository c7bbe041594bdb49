/** A host and a port; an undefined host means every address. */
export interface HostPort {
  readonly host: string | undefined
  readonly port: number
}

export interface PeerAddress {
  readonly host: string
  readonly quorumPort: number
  readonly electionPort: number
}

export type Role = 'participant' | 'observer'

/** The content of a `server.N` line. */
export interface ServerSpec {
  /** More than one only with `multiAddress.enabled`. */
  readonly addresses: readonly PeerAddress[]
  readonly role: Role
  /** Where the clients of this member connect, if the line says so. */
  readonly client: HostPort | undefined
  readonly secureClient: HostPort | undefined
}

export type Parsed<T> =
  | { readonly value: T }
  | {
      readonly problem: string
      /** The syntax is right, but a port is out of range: Apache reports the two differently. */
      readonly isPortOutOfRange?: boolean
    }

/** The host to write where a text needs one and every address is meant. */
export const everyAddress = '0.0.0.0'

const form = 'host:quorumPort:electionPort[:participant|observer][;[address:]clientPort]'

/** Reads the text of a `server.N` line. */
export function parseServerSpec(text: string): Parsed<ServerSpec> {
  const [peers = '', client, secureClient, ...rest] = text.split(';').map((part) => part.trim())
  if (rest.length > 0) return { problem: `expected ${form}, got ${JSON.stringify(text)}` }
  const addresses: PeerAddress[] = []
  let role: Role = 'participant'
  for (const part of peers.split('|')) {
    const parsed = parsePeer(part.trim())
    if ('problem' in parsed) return parsed
    addresses.push(parsed.value.address)
    role = parsed.value.role ?? role
  }
  const clientPort = parseOptional(client)
  if ('problem' in clientPort) return clientPort
  const securePort = parseOptional(secureClient)
  if ('problem' in securePort) return securePort
  return {
    value: { addresses, role, client: clientPort.value, secureClient: securePort.value },
  }
}

function parsePeer(text: string): Parsed<{ address: PeerAddress; role: Role | undefined }> {
  const [host, quorum, election, roleText, ...rest] = splitHostAndPorts(text)
  if (host === undefined || host === '' || quorum === undefined || rest.length > 0) {
    return { problem: `expected ${form}, got ${JSON.stringify(text)}` }
  }
  if (election === undefined) return { problem: 'the election port is missing' }
  const quorumPort = portOf(quorum)
  const electionPort = portOf(election)
  if (quorumPort === undefined) return noPort(quorum)
  if (electionPort === undefined) return noPort(election)
  if (quorumPort === electionPort) {
    return { problem: `quorum port and election port must differ, both are ${quorumPort}` }
  }
  const role = roleText?.toLowerCase()
  if (role !== undefined && role !== 'participant' && role !== 'observer') {
    return { problem: `${JSON.stringify(roleText)} is no role; use participant or observer` }
  }
  return { value: { address: { host, quorumPort, electionPort }, role } }
}

function parseOptional(text: string | undefined): Parsed<HostPort | undefined> {
  if (text === undefined || text === '') return { value: undefined }
  const parts = splitHostAndPorts(text)
  const port = portOf(parts.at(-1) ?? '')
  if (port === undefined || parts.length > 2) {
    const problem = `expected [address:]port after the semicolon, got ${JSON.stringify(text)}`
    return noPort(parts.at(-1) ?? '', problem)
  }
  return { value: { host: parts.length === 2 ? parts[0] : undefined, port } }
}

/** The spec as text with every part written out: the form that servers exchange. */
export function formatServerSpec({ addresses, role, client, secureClient }: ServerSpec): string {
  const peers = addresses.map(
    ({ host, quorumPort, electionPort }) => `${bracketed(host)}:${quorumPort}:${electionPort}`,
  )
  const parts = [`${peers.join('|')}:${role}`]
  if (client !== undefined || secureClient !== undefined) parts.push(formatHostPort(client))
  if (secureClient !== undefined) parts.push(formatHostPort(secureClient))
  return parts.join(';')
}

function formatHostPort(address: HostPort | undefined): string {
  if (address === undefined) return ''
  return `${bracketed(address.host ?? everyAddress)}:${address.port}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${expanded(host)}]` : host
}

const groupsOfAddress = 8

/** The full form of an IPv6 address, as Java prints it; any other host is unchanged. */
function expanded(host: string): string {
  const [head = '', tail, ...more] = host.toLowerCase().split('::')
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const first = groupsOf(head)
  const last = groupsOf(tail ?? '')
  const missing = groupsOfAddress - first.length - last.length
  if (more.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return host
  const groups = [...first, ...Array.from({ length: missing }, () => '0'), ...last]
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return host
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}

/** Splits at colons, except inside the brackets of an IPv6 address. */
function splitHostAndPorts(text: string): string[] {
  const [, inBrackets, rest] = /^\[([^\]]*)\](?::(.*))?$/.exec(text) ?? []
  if (inBrackets === undefined) return text.split(':')
  return [inBrackets, ...(rest === undefined ? [] : rest.split(':'))]
}

const portMax = 65_535

function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= portMax ? Number(text) : undefined
}

function noPort(
  text: string,
  problem = `${JSON.stringify(text)} is not a port`,
): { problem: string; isPortOutOfRange?: boolean } {
  const number = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  const isOutOfRange = number === (number | 0) && (number < 0 || number > portMax)
  return isOutOfRange ? { problem, isPortOutOfRange: true } : { problem }
}
