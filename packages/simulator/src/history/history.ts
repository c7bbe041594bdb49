/** The actions and observations of clients: the only input of checkers from the clients' side. */
import type { Request, Result } from '../client/request.ts'

export interface Operation {
  readonly client: string
  readonly session: bigint
  readonly xid: number
  readonly request: Request
  /** The session is a local one that never becomes global. */
  readonly isLocal?: boolean
  /** The identities that the client had proven when it sent the request. */
  readonly identities: readonly string[]
  /** The position of the call in the order of all events. */
  readonly called: number
  readonly calledMs: number
  /** The position of the answer; undefined if there was none. */
  returned?: number
  result?: Result
  /** The zxid in the header of the reply. */
  zxid?: bigint
}

export type Frame =
  | { readonly kind: 'reply'; readonly operation: Operation; readonly zxid: bigint }
  | {
      readonly kind: 'notification'
      readonly zxid: bigint
      readonly type: number
      readonly path: string
    }
  | { readonly kind: 'ping'; readonly zxid: bigint }

/** One accepted connection, and all frames that arrived on it, in order. */
export interface Conversation {
  readonly client: string
  readonly session: bigint
  readonly server: string
  /** The life of the server. */
  readonly life: number
  readonly frames: Frame[]
}

export interface SessionRecord {
  readonly id: bigint
  readonly client: string
  readonly timeoutMs: number
  readonly created: number
  /** When the client learned that the session had ended. */
  ended?: number
  /** The client's request to close it. */
  closing?: Operation
}

export class History {
  readonly operations: Operation[] = []
  /** Sessions may begin as local ones, which are in no log. */
  hasLocalSessions = false
  /** They stay local, and cannot own nodes. */
  haveOnlyLocalSessions = false
  /** Sessions of administrators, whose answers are not checked. */
  readonly adminSessions = new Set<bigint>()
  readonly conversations: Conversation[] = []
  readonly sessions = new Map<bigint, SessionRecord>()
  /** Violations that a client noticed at once. */
  readonly complaints: string[] = []
  private place = 0

  next(): number {
    return this.place++
  }

  get now(): number {
    return this.place
  }
}
