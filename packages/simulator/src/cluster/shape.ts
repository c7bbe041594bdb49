import type { Groups, Membership, ServerId, ServerSpec } from '@zabra/core'
import type { Random } from '../world/random.ts'
import { serverName } from './sim-peer-network.ts'

/**
 * How quorums are counted: each voter equally, with additional observers, or by groups and weights.
 */
export type Shape = 'plain' | 'observers' | 'weighted'

export function drawShape(random: Random): Shape {
  return random.weighted({ plain: 6, observers: 2.5, weighted: 1.5 })
}

/** The voters come first, by number, then the observers. */
export function drawMembership(voters: number, shape: Shape, random: Random): Membership {
  const observers = shape === 'observers' ? random.between(1, 2) : 0
  const servers = new Map<ServerId, ServerSpec>()
  for (let i = 1; i <= voters + observers; i++) {
    const id = BigInt(i)
    const address = { host: serverName(id), quorumPort: 2888, electionPort: 3888 }
    servers.set(id, {
      addresses: [address],
      role: i <= voters ? 'participant' : 'observer',
      client: undefined,
      secureClient: undefined,
    })
  }
  const hierarchy = shape === 'weighted' ? drawGroups([...servers.keys()], random) : undefined
  return { version: 0n, servers, hierarchy }
}

/** A server that is not a member at first, and the configuration with which it would join. */
export interface Stranger {
  readonly self: ServerId
  readonly membership: Membership
}

export function drawStrangers(membership: Membership, random: Random): Stranger[] {
  const count = random.between(1, 2)
  return Array.from({ length: count }, (_, i) => {
    const self = BigInt(membership.servers.size + 1 + i)
    const servers = new Map(membership.servers)
    return { self, membership: { ...membership, servers: servers.set(self, specOf(self)) } }
  })
}

export function specOf(id: ServerId, role: ServerSpec['role'] = 'participant'): ServerSpec {
  const address = { host: serverName(id), quorumPort: 2888, electionPort: 3888 }
  const client = { host: '0.0.0.0', port: 2181 }
  return { addresses: [address], role, client, secureClient: undefined }
}

function drawGroups(voters: readonly ServerId[], random: Random): Groups {
  const groups = new Map<bigint, ServerId[]>()
  const count = random.pick([1, 1, 2, 3])
  for (const [i, id] of voters.entries()) {
    const group = BigInt(1 + (i % count))
    groups.set(group, [...(groups.get(group) ?? []), id])
  }
  const weights = new Map(voters.map((id) => [id, BigInt(random.pick([0, 1, 1, 2, 3]))] as const))
  // At least one server must be able to lead.
  if ([...weights.values()].every((weight) => weight === 0n)) weights.set(voters[0]!, 1n)
  return { groups, weights }
}

/**
 * Whether these servers form a quorum, computed from the documentation and not by the servers'
 * code.
 */
export function isEnough(
  { servers, hierarchy }: Membership,
  holders: ReadonlySet<ServerId>,
): boolean {
  const voters = [...servers].filter(([, { role }]) => role === 'participant').map(([id]) => id)
  if (hierarchy === undefined) {
    return 2 * voters.filter((id) => holders.has(id)).length > voters.length
  }
  const weightOf = (ids: readonly ServerId[]): bigint =>
    ids.reduce((sum, id) => sum + (hierarchy.weights.get(id) ?? 1n), 0n)
  const weighty = [...hierarchy.groups.values()].filter((ids) => weightOf(ids) > 0n)
  const won = weighty.filter(
    (ids) => 2n * weightOf(ids.filter((id) => holders.has(id))) > weightOf(ids),
  )
  return 2 * won.length > weighty.length
}
