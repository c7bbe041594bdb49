import type { Reader, Stat as StatRecord } from '@zabra/protocol'

/**
 * The stat of a node, with ZooKeeper's names. Zxids, session ids and times are `bigint`, as on the
 * server; `mtimeMs` and `ctimeMs` are numbers for `Date`, and `JSON.stringify` works.
 *
 *     const { stat } = await client.get('/settings')
 *     console.log(new Date(stat.mtimeMs), JSON.stringify(stat))
 */
export class Stat implements StatRecord {
  // Declared, so that the constructor writes each field once: most replies have a stat.

  /** The transaction that created the node. */
  declare readonly czxid: bigint
  /** The transaction that last changed its data. */
  declare readonly mzxid: bigint
  /** When it was created, in milliseconds since 1970 by the leader's clock. */
  declare readonly ctime: bigint
  /** When its data was last changed. */
  declare readonly mtime: bigint
  /** How often its data was changed: for `ifVersion`. */
  declare readonly version: number
  /** How often its children changed. */
  declare readonly cversion: number
  /** How often its ACL was changed. */
  declare readonly aversion: number
  /** The session of an ephemeral node, else 0. */
  declare readonly ephemeralOwner: bigint
  /** Bytes of data. */
  declare readonly dataLength: number
  declare readonly numChildren: number
  /** The transaction that last created or deleted a child. */
  declare readonly pzxid: bigint

  /**
   * In the order of the wire. Most replies contain a stat, so it is read without an intermediate
   * object.
   */
  constructor(
    czxid: bigint,
    mzxid: bigint,
    ctime: bigint,
    mtime: bigint,
    version: number,
    cversion: number,
    aversion: number,
    ephemeralOwner: bigint,
    dataLength: number,
    numChildren: number,
    pzxid: bigint,
  ) {
    this.czxid = czxid
    this.mzxid = mzxid
    this.ctime = ctime
    this.mtime = mtime
    this.version = version
    this.cversion = cversion
    this.aversion = aversion
    this.ephemeralOwner = ephemeralOwner
    this.dataLength = dataLength
    this.numChildren = numChildren
    this.pzxid = pzxid
  }

  /** Makes a stat from a plain record. */
  static of(record: StatRecord): Stat {
    return new Stat(
      record.czxid,
      record.mzxid,
      record.ctime,
      record.mtime,
      record.version,
      record.cversion,
      record.aversion,
      record.ephemeralOwner,
      record.dataLength,
      record.numChildren,
      record.pzxid,
    )
  }

  get mtimeMs(): number {
    return Number(this.mtime)
  }

  get ctimeMs(): number {
    return Number(this.ctime)
  }

  /**
   * Numbers as numbers; zxids and the session in hex, as ZooKeeper's tools print them.
   *
   *     console.log(JSON.stringify(await client.exists('/settings'))) // {"czxid":"0x2",...}
   */
  toJSON(): StatJson {
    const { czxid, mzxid, pzxid, ephemeralOwner, mtimeMs, ctimeMs } = this
    const { version, cversion, aversion, dataLength, numChildren } = this
    return {
      czxid: formatZxid(czxid),
      mzxid: formatZxid(mzxid),
      pzxid: formatZxid(pzxid),
      ctimeMs,
      mtimeMs,
      version,
      cversion,
      aversion,
      ephemeralOwner: formatZxid(ephemeralOwner),
      dataLength,
      numChildren,
    }
  }
}

export interface StatJson {
  readonly czxid: string
  readonly mzxid: string
  readonly pzxid: string
  readonly ctimeMs: number
  readonly mtimeMs: number
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: string
  readonly dataLength: number
  readonly numChildren: number
}

/** A stat at the reader's position. */
export function readStat(reader: Reader): Stat {
  return new Stat(
    reader.long(),
    reader.long(),
    reader.long(),
    reader.long(),
    reader.int(),
    reader.int(),
    reader.int(),
    reader.long(),
    reader.int(),
    reader.int(),
    reader.long(),
  )
}

/**
 * A zxid or a session id as ZooKeeper's logs and tools print it: `0x100000002`.
 *
 *     console.log(formatZxid(client.lastZxid)) // 0x100000002
 */
export function formatZxid(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`
}
