/** What kind a znode is follows from its owner: a session, a mark, or nothing. */
import { containerOwner } from './codes.ts'

const ttlMask = 0xff00000000000000n
const reservedMask = 0x00ffff0000000000n
const ttlBits = 40

/** The kinds of znodes. Sequential ones differ in their name only. */
export type NodeKind = 'persistent' | 'ephemeral' | 'container' | 'ttl'

interface Owned {
  readonly ephemeralOwner: bigint
}

export function nodeKindOf({ ephemeralOwner }: Owned): NodeKind {
  if (ephemeralOwner === 0n) return 'persistent'
  if (ephemeralOwner === containerOwner) return 'container'
  // A server number of 255 would look the same: Apache does not allow it with TTL nodes.
  const owner = BigInt.asUintN(64, ephemeralOwner)
  return (owner & ttlMask) === ttlMask && (owner & reservedMask) === 0n ? 'ttl' : 'ephemeral'
}

/** How long a TTL node lives after its last change. */
export function ttlMsOf({ ephemeralOwner }: Owned): number {
  return Number(BigInt.asUintN(ttlBits, ephemeralOwner))
}
