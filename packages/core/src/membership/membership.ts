import { parseProperties } from '../base/properties.ts'
import { hierarchical, majority, type QuorumVerifier, type ServerId } from './quorum.ts'
import { formatServerSpec, parseServerSpec, type Parsed, type ServerSpec } from './server-spec.ts'

/** The members of the ensemble, as notifications, NEWLEADER and `/zookeeper/config` carry them. */
export interface Membership {
  /** The zxid of the change that made this configuration; 0 for the configuration file. */
  readonly version: bigint
  readonly servers: ReadonlyMap<ServerId, ServerSpec>
  /** Undefined if a quorum is a plain majority. */
  readonly hierarchy: Groups | undefined
}

/** Groups of servers and their weights; the default weight is 1. */
export interface Groups {
  readonly groups: ReadonlyMap<bigint, readonly ServerId[]>
  readonly weights: ReadonlyMap<ServerId, bigint>
}

/** Reads the text of a configuration; its last line is the version. */
export function parseMembership(text: string): Parsed<Membership> {
  const { properties, problems } = parseProperties(text)
  if (problems[0] !== undefined) return { problem: problems[0].message }
  const servers = new Map<ServerId, ServerSpec>()
  const groups = new Map<bigint, readonly ServerId[]>()
  const weights = new Map<ServerId, bigint>()
  let version = 0n
  for (const { key, value: untrimmed } of properties) {
    const value = untrimmed.trim()
    const [, kind, idText] = /^(server|group|weight)\.(\d{1,18})$/.exec(key) ?? []
    if (idText === undefined) {
      if (key !== 'version') return { problem: `${JSON.stringify(key)} has no place here` }
      if (!/^[0-9a-f]{1,16}$/i.test(value)) return { problem: `${value} is not a version` }
      version = BigInt.asIntN(64, BigInt(`0x${value}`))
      continue
    }
    const id = BigInt(idText)
    if (kind === 'server') {
      const spec = parseServerSpec(value)
      if ('problem' in spec) return { ...spec, problem: `${key}: ${spec.problem}` }
      servers.set(id, spec.value)
    } else {
      const numbers = parseNumbers(value)
      if (numbers === undefined) return { problem: `${key}: ${value} is not a list of numbers` }
      if (kind === 'group') groups.set(id, numbers)
      else weights.set(id, numbers[0]!)
    }
  }
  const hierarchy = groups.size > 0 || weights.size > 0 ? { groups, weights } : undefined
  const problem = groupProblem(servers, hierarchy)
  return problem === undefined ? { value: { version, servers, hierarchy } } : { problem }
}

function parseNumbers(text: string): bigint[] | undefined {
  const parts = text.split(':').map((part) => part.trim())
  return parts.every((part) => /^\d{1,18}$/.test(part)) ? parts.map(BigInt) : undefined
}

/** Says what is wrong if a participant is in no group or in two: quorums would be ambiguous. */
function groupProblem(
  servers: ReadonlyMap<ServerId, ServerSpec>,
  hierarchy: Groups | undefined,
): string | undefined {
  if (hierarchy === undefined) return undefined
  const grouped = [...hierarchy.groups.values()].flat()
  for (const [id, { role }] of servers) {
    if (role !== 'participant') continue
    const count = grouped.filter((member) => member === id).length
    if (count !== 1) return `server.${id} must be in exactly one group, and is in ${count}`
  }
  return undefined
}

/**
 * The configuration as text. Its lines are in ascending order of server numbers, as Apache orders
 * them for small numbers.
 */
export function formatMembership({ version, servers, hierarchy }: Membership): string {
  const lines = ascending(servers).map(([id, spec]) => `server.${id}=${formatServerSpec(spec)}`)
  if (hierarchy !== undefined) {
    for (const [id, members] of ascending(hierarchy.groups)) {
      lines.push(`group.${id}=${members.join(':')}`)
    }
    for (const [id, weight] of ascending(hierarchy.weights)) lines.push(`weight.${id}=${weight}`)
  }
  lines.push(`version=${BigInt.asUintN(64, version).toString(16)}`)
  return lines.join('\n')
}

function ascending<T>(map: ReadonlyMap<bigint, T>): [bigint, T][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Whether two configurations are the same: by version, or by content. */
export function sameMembership(one: Membership, other: Membership): boolean {
  if (one.version === other.version) return true
  return canonical(one) === canonical(other)
}

/** The members that joined, left, or have a different line. */
export interface MembershipChange {
  readonly joined: readonly ServerId[]
  readonly left: readonly ServerId[]
  readonly changed: readonly ServerId[]
}

export function changeBetween(before: Membership, after: Membership): MembershipChange {
  const lineIn = ({ servers }: Membership, id: ServerId): string =>
    formatServerSpec(servers.get(id)!)
  const ids = [...after.servers.keys()]
  return {
    joined: ids.filter((id) => !before.servers.has(id)),
    left: [...before.servers.keys()].filter((id) => !after.servers.has(id)),
    changed: ids.filter((id) => before.servers.has(id) && lineIn(before, id) !== lineIn(after, id)),
  }
}

/** The same text for the same members, whatever the order they were given in. */
function canonical({ servers, hierarchy }: Membership): string {
  const ids = [...servers.keys()]
  const grouping = hierarchy && {
    groups: new Map(
      [...hierarchy.groups].map(([id, members]) => [id, members.toSorted(byNumber)] as const),
    ),
    // A weight of 1 means the same as no weight.
    weights: new Map(ids.map((id) => [id, hierarchy.weights.get(id) ?? 1n] as const)),
  }
  return formatMembership({ version: 0n, servers, hierarchy: grouping })
}

function byNumber(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The verifier that decides when enough of these servers agree. */
export function verifierOf({ version, servers, hierarchy }: Membership): QuorumVerifier {
  const having = (role: ServerSpec['role']): ServerId[] =>
    [...servers].filter(([, spec]) => spec.role === role).map(([id]) => id)
  const members = { version, voters: having('participant'), observers: having('observer') }
  return hierarchy === undefined ? majority(members) : hierarchical({ ...members, ...hierarchy })
}
