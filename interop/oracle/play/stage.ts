import { programRoot, type Program, type Request } from '../program/program.ts'
import type { Address, Connection } from './connection.ts'
import { Masks } from './masks.ts'
import type { ZxidMode } from './transcript.ts'

export interface PlayOptions {
  readonly zxid: ZxidMode
  readonly exactOrder: boolean
  /**
   * How to find out that everything due has arrived: the reply to a ping or, with several servers,
   * that all of them have seen the highest zxid.
   */
  readonly barrier: 'ping' | 'catchup'
  /** The path of this play's nodes, which no other play on the same server uses. */
  readonly root: string
  /** How long to wait for notifications after each step. */
  readonly settleMs: number
  /** When to give up the program. */
  readonly deadline: number
}

/** The servers of one side, as the player sees them. */
export interface Target {
  readonly addresses: readonly Address[]
  readonly canRestart: boolean
  restart(hard: boolean): Promise<void>
}

/** One of a program's sessions, with its current connection. */
export interface Slot {
  connection: Connection | undefined
  /** The handshake succeeded and the connection has not been closed. */
  up: boolean
  /** The end of the connection has been recorded. */
  gone: boolean
  xid: number
  sessionId?: bigint | undefined
  /** As hex. */
  password?: string | undefined
  /** The session has ended or was never created: it is not resumed. */
  ended: boolean
  /** The zxid that this session's server has reached. */
  reached: bigint
}

export function emptySlot(connection?: Connection): Slot {
  return { connection, up: false, gone: true, xid: 0, ended: false, reached: 0n }
}

/** The state of a play: its sessions, what was seen, and the servers. */
export class Stage {
  readonly options: PlayOptions
  readonly target: Target
  readonly masks: Masks
  readonly slots: (Slot | undefined)[] = []
  /** Passwords of the sessions that were created and not closed. */
  readonly openSessions = new Map<bigint, string>()

  constructor(program: Program, target: Target, options: PlayOptions) {
    this.options = options
    this.target = target
    const { zxid, exactOrder, root } = options
    const manyIdentities = JSON.stringify(program.steps).split('"auth"').length > 2
    this.masks = new Masks(root, { zxid, exactOrder, manyIdentities })
  }

  addressOf(index: number): Address {
    const { addresses } = this.target
    return addresses[index % addresses.length]!
  }

  /** The slot's connection, if requests can be sent on it. */
  liveConnection(index: number): Connection | undefined {
    const slot = this.slots[index]
    return slot?.up === true && slot.connection?.closed === false ? slot.connection : undefined
  }

  /** Drops a slot's connection; the session continues. */
  drop(index: number): void {
    const slot = this.slots[index]
    if (slot === undefined) return
    slot.connection?.drop()
    slot.up = false
    slot.gone = true
  }

  /** The request with this play's root instead of the program's. */
  rebase(request: Request): Request {
    return rebase(request, this.options.root) as Request
  }
}

const startsAtRoot = /^(\/zookeeper\/quota|\/)?\/P(?=\/|$)/
const startsAtRootHex = /^2f50(?=2f|$)/

function rebase(value: unknown, root: string): unknown {
  if (typeof value === 'string') {
    return value.replace(startsAtRoot, (_, before: string | undefined) => (before ?? '') + root)
  }
  if (Array.isArray(value)) return value.map((element) => rebase(element, root))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key === 'hex') return [key, rebaseHex(String(inner), root)]
    // The data of a node is not a path.
    return [key, key === 'data' && typeof inner === 'string' ? inner : rebase(inner, root)]
  })
  return Object.fromEntries(entries) as unknown
}

function rebaseHex(hex: string, root: string): string {
  return hex.replace(startsAtRootHex, Buffer.from(root).toString('hex'))
}

/** The path of the quotas for a program's root. */
export function quotaRoot(root: string): string {
  return `/zookeeper/quota${root}`
}

if (!startsAtRoot.test(programRoot)) throw new Error('the patterns above are for another root')
