import { programRoot, type Moment } from '../program/program.ts'
import { textOf } from '../wire/strict-reader.ts'
import { SeenZxid, type Told, type ZxidMode } from './transcript.ts'

export interface MaskOptions {
  readonly zxid: ZxidMode
  /** Whether to compare the order of children too. */
  readonly exactOrder: boolean
  /** Some connection has several identities, whose order is that of a hash table. */
  readonly manyIdentities: boolean
}

const latestZxid = 0x7000000000000000n
const futureZxids = 1_000_000n
const earliestTime = 1_500_000_000_000n
const clockSlackMs = 3000n

/**
 * Hides what two correct servers may do differently, and nothing else: session ids become numbers
 * in order of appearance, plausible times become `T`, and the play's root becomes the program's.
 */
export class Masks {
  readonly #options: MaskOptions
  readonly #root: string
  readonly #rootHex: string
  readonly #sessions = new Map<bigint, string>()
  readonly #timeOfZxid = new Map<bigint, bigint>()
  #start = 0n
  #mid = 0n
  /** The highest zxid seen in this play. */
  highest = 0n

  constructor(root: string, options: MaskOptions) {
    this.#root = root
    this.#rootHex = Buffer.from(root).toString('hex')
    this.#options = options
  }

  /** Records the highest zxid at this moment. */
  mark(moment: 'start' | 'mid'): void {
    if (moment === 'start') this.#start = this.highest
    else this.#mid = this.highest
  }

  zxidAt(moment: Moment): bigint {
    switch (moment) {
      case 'now':
        return this.highest
      case 'start':
        return this.#start
      case 'mid':
        return this.#mid
      case 'future':
        return this.highest + futureZxids
      case 'zero':
        return 0n
    }
  }

  zxid(zxid: bigint): Told {
    if (zxid <= 0n) return Number(zxid)
    if (zxid > this.highest && zxid < latestZxid) this.highest = zxid
    return new SeenZxid(zxid)
  }

  headerZxid(zxid: bigint, err: number): Told {
    const told = this.zxid(zxid)
    return this.#options.zxid === 'loose' && err !== 0 && zxid > 0n ? '*' : told
  }

  session(id: bigint): Told {
    if (id === 0n) return 0
    const known = this.#sessions.get(id) ?? `S${this.#sessions.size + 1}`
    this.#sessions.set(id, known)
    return known
  }

  /** The session that owns a node; containers and TTL nodes have other numbers there. */
  owner(id: bigint): string | 0 {
    if (id === 0n) return 0
    return this.#sessions.get(id) ?? `0x${BigInt.asUintN(64, id).toString(16)}`
  }

  /** A time must be plausible, and the same wherever the same zxid appears. */
  time(zxid: bigint, time: bigint): Told {
    if (time === 0n) return 0
    if (time > BigInt(Date.now()) + clockSlackMs || time < earliestTime) return `T! ${time}`
    const known = this.#timeOfZxid.get(zxid)
    if (known !== undefined && known !== time) return 'T! not the time of its zxid'
    this.#timeOfZxid.set(zxid, time)
    return 'T'
  }

  path(path: string | null): string | null {
    if (path === null) return null
    const rootHex = Buffer.from(programRoot).toString('hex')
    return path.replaceAll(this.#root, programRoot).replaceAll(this.#rootHex, rootHex)
  }

  /** Long data is represented by its length, its first bytes and a checksum. */
  data(bytes: Buffer | null): Told {
    if (bytes === null) return null
    if (bytes.length <= 200) return textOf(bytes).replaceAll(this.#root, programRoot)
    const head = bytes.subarray(0, 32).toString('hex')
    return `${bytes.length} bytes ${head}...${sumOf(bytes)}`
  }

  children(names: (string | null)[] | null): Told {
    return names === null || this.#options.exactOrder ? names : sortedBy(names, String)
  }

  identities(list: Told[] | null): Told {
    if (list === null || !this.#options.manyIdentities) return list
    return sortedBy(list, (entry) => JSON.stringify(entry))
  }
}

export function sortedBy<T>(list: readonly T[], key: (element: T) => string): T[] {
  return list.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)]
    return x < y ? -1 : x > y ? 1 : 0
  })
}

/** FNV-1a, in hex. */
function sumOf(bytes: Buffer): string {
  let hash = 2166136261
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619) >>> 0
  return hash.toString(16)
}
