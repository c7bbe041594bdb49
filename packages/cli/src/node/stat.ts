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

/** Containers and nodes with a TTL look like persistent ones: servers do not tell clients. */
export function isEphemeral({ ephemeralOwner }: Pick<Stat, 'ephemeralOwner'>): boolean {
  return ephemeralOwner !== 0n
}

/** A stat in JSON: zxids and sessions in hexadecimal, times in ISO 8601. */
export function statJson(stat: Stat) {
  return {
    czxid: hex(stat.czxid),
    mzxid: hex(stat.mzxid),
    pzxid: hex(stat.pzxid),
    ctime: isoTime(stat.ctime),
    mtime: isoTime(stat.mtime),
    version: stat.version,
    cversion: stat.cversion,
    aversion: stat.aversion,
    ephemeralOwner: isEphemeral(stat) ? hex(stat.ephemeralOwner) : null,
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
