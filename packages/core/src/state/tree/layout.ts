/** Identifies a znode while it exists; 0 is none. Numbers of deleted znodes are reused. */
export type NodeId = number

export const noNode: NodeId = 0
export const root: NodeId = 1

/**
 * The layout of a znode record. The first 68 bytes are its stat in wire order, with two differences
 * that `Tree.writeStat` corrects: `cversion` counts creates only, and the owner may be the mark of
 * a container or TTL node.
 */
export const field = {
  czxid: 0,
  mzxid: 8,
  ctime: 16,
  mtime: 24,
  version: 32,
  cversion: 36,
  aversion: 40,
  owner: 44,
  dataLength: 52,
  numChildren: 56,
  pzxid: 60,
  // Not part of the stat:
  parent: 68,
  next: 72,
  previous: 76,
  firstChild: 80,
  descendants: 84,
  aclId: 88,
  nameRef: 92,
  nameLength: 96,
  dataRef: 100,
  hash: 104,
  pathChecksum: 108,
  digest: 112,
} as const

export const statWireBytes = 68
export const recordBytes = 116

const ttlMark = 0xff00n
const ttlMax = 0xffffffffffn

/** The owner field of a TTL node: 0xff, a feature id of 0, and the TTL in the low 40 bits. */
export function ttlOwner(ttlMs: bigint): bigint {
  return BigInt.asIntN(64, (ttlMark << 48n) | ttlMs)
}

export function isTtlOwner(owner: bigint): boolean {
  return BigInt.asUintN(64, owner) >> 56n === 0xffn
}

export function ttlOf(owner: bigint): bigint {
  return owner & ttlMax
}

export const ttlMsMax = ttlMax
