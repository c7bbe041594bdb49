import { containerOwner } from './codes.ts'

/** Clients only see whether a node is ephemeral; snapshots and logs distinguish all four kinds. */
export type NodeKind = 'persistent' | 'ephemeral' | 'container' | 'ttl'

const ttlMark = 0xff0000n

/** The kind of a node, by the owner field of its stored stat. */
export function storedKind(owner: bigint): NodeKind {
  if (owner === 0n) return 'persistent'
  if (owner === containerOwner) return 'container'
  return BigInt.asUintN(64, owner) >> 40n === ttlMark ? 'ttl' : 'ephemeral'
}

/** The TTL in the owner field of a TTL node. */
export function storedTtlMs(owner: bigint): number {
  return Number(BigInt.asUintN(40, owner))
}
