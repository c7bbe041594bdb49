/** The number of a server, as in its `myid` file. */
export type ServerId = bigint

/** Decides when enough servers of one configuration have agreed. */
export interface QuorumVerifier {
  /** The version of the configuration; a higher one is newer. */
  readonly version: bigint
  /** The servers whose agreement counts. */
  readonly voters: ReadonlySet<ServerId>
  readonly observers: ReadonlySet<ServerId>
  /** Any two quorums share a server. The set may contain servers without a vote. */
  isQuorum(acks: ReadonlySet<ServerId>): boolean
  /** Zero for a server that must never be elected. */
  weight(server: ServerId): bigint
}

export interface MajorityOptions {
  readonly voters: Iterable<ServerId>
  readonly observers?: Iterable<ServerId>
  readonly version?: bigint
}

/** More than half of the voters. */
export function majority({
  voters: members,
  observers = [],
  version = 0n,
}: MajorityOptions): QuorumVerifier {
  const voters = new Set(members)
  const half = Math.floor(voters.size / 2)
  return {
    version,
    voters,
    observers: new Set(observers),
    isQuorum(acks) {
      let count = 0
      for (const server of acks) if (voters.has(server)) count++
      return count > half
    },
    // A server that joins with the next configuration may be elected before that is committed.
    weight: () => 1n,
  }
}

export interface HierarchyOptions extends MajorityOptions {
  /** Every voter is in exactly one group. */
  readonly groups: ReadonlyMap<bigint, readonly ServerId[]>
  /** The default weight is 1. */
  readonly weights: ReadonlyMap<ServerId, bigint>
}

/** More than half of the weight in more than half of the groups that have any weight. */
export function hierarchical(options: HierarchyOptions): QuorumVerifier {
  const { observers = [], version = 0n, groups, weights } = options
  const voters = new Set(options.voters)
  const grouped = new Set([...groups.values()].flat())
  const weightOf = (server: ServerId): bigint =>
    grouped.has(server) ? (weights.get(server) ?? 1n) : 0n
  const sum = (servers: Iterable<ServerId>): bigint => {
    let total = 0n
    for (const server of servers) if (voters.has(server)) total += weightOf(server)
    return total
  }
  const weighty = [...groups.values()]
    .map((servers) => ({ servers, half: sum(servers) / 2n, total: sum(servers) }))
    .filter(({ total }) => total > 0n)
  const half = Math.floor(weighty.length / 2)
  return {
    version,
    voters,
    observers: new Set(observers),
    isQuorum(acks) {
      const satisfied = weighty.filter(
        (group) => sum(group.servers.filter((server) => acks.has(server))) > group.half,
      )
      return satisfied.length > half
    },
    weight: weightOf,
  }
}

/**
 * The verifier while a change of configuration is pending: it needs a quorum of the committed
 * configuration, and one of the proposed configuration if that is newer.
 */
export function combine(committed: QuorumVerifier, lastSeen?: QuorumVerifier): QuorumVerifier {
  if (lastSeen === undefined || lastSeen.version <= committed.version) return committed
  return {
    version: committed.version,
    voters: new Set([...committed.voters, ...lastSeen.voters]),
    observers: new Set([...committed.observers, ...lastSeen.observers]),
    isQuorum: (acks) => committed.isQuorum(acks) && lastSeen.isQuorum(acks),
    weight: (server) => (committed.voters.has(server) ? committed : lastSeen).weight(server),
  }
}
