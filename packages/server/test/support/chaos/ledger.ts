/** Records what clients were told, and throws if it is contradictory. */
export class Ledger {
  readonly problems: string[] = []
  /** The highest acknowledged zxid. */
  readonly tide = { zxid: 0n }
  /** Shared sequential nodes, by path. */
  readonly sharedAcks = new Map<string, { data: string; zxid: bigint }>()
  /** The data of shared nodes whose creation was never answered. */
  readonly sharedUnanswered = new Set<string>()
  readonly counts = {
    acknowledged: 0,
    unanswered: 0,
    unansweredDone: 0,
    reads: 0,
    syncs: 0,
    events: 0,
    moves: 0,
    lives: 0,
  }
  private readonly registers = new Map<string, Register>()
  private readonly written = new Set<bigint>()

  problem(text: string): void {
    this.problems.push(text)
  }

  /** No two writes may have the same zxid. */
  acknowledged(who: string, zxid: bigint): void {
    this.counts.acknowledged++
    if (this.written.has(zxid)) this.problem(`${who}: zxid ${hex(zxid)} was acknowledged twice`)
    this.written.add(zxid)
    if (zxid > this.tide.zxid) this.tide.zxid = zxid
  }

  register(path: string): Register {
    let register = this.registers.get(path)
    if (register === undefined) {
      register = new Register(path, this)
      this.registers.set(path, register)
    }
    return register
  }
}

interface Value {
  readonly data: string
  readonly mzxid: bigint
}

/**
 * A node with many writers: each of its versions has one value, for all clients and at all times.
 */
export class Register {
  readonly path: string
  /** The highest version that any writer or reader has seen. */
  version = 0
  private readonly ledger: Ledger
  private readonly values = new Map<number, Value>()
  private readonly versions = new Map<string, number>()

  constructor(path: string, ledger: Ledger) {
    this.path = path
    this.ledger = ledger
  }

  /** Records that a client wrote or read this version. */
  observe(who: string, version: number, { data, mzxid }: Value): void {
    const { path, ledger } = this
    const known = this.values.get(version)
    if (known !== undefined && (known.data !== data || known.mzxid !== mzxid)) {
      const before = `${known.data} of ${hex(known.mzxid)}`
      ledger.problem(
        `${who}: ${path} version ${version} is ${data} of ${hex(mzxid)}, was ${before}`,
      )
    }
    const other = this.versions.get(data)
    if (other !== undefined && other !== version) {
      ledger.problem(`${who}: ${path} was set to ${data} twice: versions ${other} and ${version}`)
    }
    this.checkNeighbours(who, version, mzxid)
    this.values.set(version, { data, mzxid })
    this.versions.set(data, version)
    if (version > this.version) this.version = version
  }

  /** A later version must have a later zxid. */
  private checkNeighbours(who: string, version: number, mzxid: bigint): void {
    const before = this.values.get(version - 1)
    const after = this.values.get(version + 1)
    if ((before !== undefined && before.mzxid >= mzxid) || (after && after.mzxid <= mzxid)) {
      this.ledger.problem(`${who}: ${this.path} version ${version} is out of the order of zxids`)
    }
  }
}

export const hex = (zxid: bigint): string => `0x${zxid.toString(16)}`
