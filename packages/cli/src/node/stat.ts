import type { Stat } from '@zabra/client'

/** 64-bit numbers as ZooKeeper writes them: hexadecimal and unsigned. */
export function hex(value: bigint): string {
  return `0x${BigInt.asUintN(64, value).toString(16)}`
}

/** Milliseconds since 1970 as ISO 8601. */
export function isoTime(ms: bigint): string {
  const time = new Date(Number(ms))
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString()
}

const containerOwner = -0x8000000000000000n
const ttlMask = 0xff00000000000000n
const ttlMark = 0xff00000000000000n

/** The kinds of nodes. Sequential nodes differ in their name only. */
export type NodeKind = 'persistent' | 'ephemeral' | 'container' | 'ttl'

/** What the owner field of a stat says. */
export function kindOf({ ephemeralOwner }: Pick<Stat, 'ephemeralOwner'>): NodeKind {
  if (ephemeralOwner === 0n) return 'persistent'
  if (ephemeralOwner === containerOwner) return 'container'
  const owner = BigInt.asUintN(64, ephemeralOwner)
  // Two bytes after the mark are reserved, and 0 for TTLs; servers have ids below 255 then.
  return (owner & ttlMask) === ttlMark && (owner & 0x00ffff0000000000n) === 0n ? 'ttl' : 'ephemeral'
}

/** Of a node with a TTL. */
export function ttlMsOf({ ephemeralOwner }: Pick<Stat, 'ephemeralOwner'>): number {
  return Number(BigInt.asUintN(40, ephemeralOwner))
}

/** A stat in JSON: zxids and sessions in hexadecimal, times in ISO 8601. */
export function statJson(stat: Stat) {
  const kind = kindOf(stat)
  return {
    kind,
    czxid: hex(stat.czxid),
    mzxid: hex(stat.mzxid),
    pzxid: hex(stat.pzxid),
    ctime: isoTime(stat.ctime),
    mtime: isoTime(stat.mtime),
    version: stat.version,
    cversion: stat.cversion,
    aversion: stat.aversion,
    ephemeralOwner: kind === 'ephemeral' ? hex(stat.ephemeralOwner) : null,
    ttlMs: kind === 'ttl' ? ttlMsOf(stat) : null,
    dataLength: stat.dataLength,
    numChildren: stat.numChildren,
  }
}

/** A stat for people, one field a line. */
export function statLines(stat: Stat): string[] {
  return Object.entries(statJson(stat)).flatMap(([name, value]) =>
    value === null ? [] : [`${name.padEnd(14)} ${value}`],
  )
}
