/** A host and a port; undefined as a host means every address. */
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

/** One member, as its `server.N` line describes it. */
export interface EnsembleServer {
  readonly id: number
  /** More than one only with multiAddress.enabled. */
  readonly addresses: readonly PeerAddress[]
  readonly role: Role
  /** Where its clients connect, if the line says so. */
  readonly client: HostPort | undefined
  readonly secureClient: HostPort | undefined
}

export type Parsed<T> = { readonly value: T } | { readonly problem: string }

const form = 'host:quorumPort:electionPort[:participant|observer][;[address:]clientPort]'

/** Reads the text of a `server.N` line. */
export function parseServerLine(id: number, text: string): Parsed<EnsembleServer> {
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
    value: { id, addresses, role, client: clientPort.value, secureClient: securePort.value },
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
  if (quorumPort === undefined) return { problem: `${JSON.stringify(quorum)} is not a port` }
  if (electionPort === undefined) return { problem: `${JSON.stringify(election)} is not a port` }
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
    return { problem: `expected [address:]port after the semicolon, got ${JSON.stringify(text)}` }
  }
  return { value: { host: parts.length === 2 ? parts[0] : undefined, port } }
}

/** Splits at colons, except inside the brackets of an IPv6 address. */
function splitHostAndPorts(text: string): string[] {
  const [, bracketed, rest] = /^\[([^\]]*)\](?::(.*))?$/.exec(text) ?? []
  if (bracketed === undefined) return text.split(':')
  return [bracketed, ...(rest === undefined ? [] : rest.split(':'))]
}

function portOf(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}
