import { containerOwner } from './codes.ts'

/** Clients learn of ephemeral nodes only; snapshots and logs tell all four apart. */
export type NodeKind = 'persistent' | 'ephemeral' | 'container' | 'ttl'

const ttlMark = 0xff0000n

/** The kind of a node by the owner field of a stored stat. */
export function storedKind(owner: bigint): NodeKind {
  if (owner === 0n) return 'persistent'
  if (owner === containerOwner) return 'container'
  return BigInt.asUintN(64, owner) >> 40n === ttlMark ? 'ttl' : 'ephemeral'
}

/** The TTL in the owner field of a node that has one. */
export function storedTtlMs(owner: bigint): number {
  return Number(BigInt.asUintN(40, owner))
}
