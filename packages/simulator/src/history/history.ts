/** What clients did and saw, as they saw it: all that checkers may know of them. */
import type { Request, Result } from '../client/request.ts'

export interface Operation {
  readonly client: string
  readonly session: bigint
  readonly xid: number
  readonly request: Request
  /** Who the client had proven to be when it asked. */
  readonly identities: readonly string[]
  /** The place of the call in the one order of all events. */
  readonly called: number
  readonly calledMs: number
  /** The place of the answer; undefined when none came. */
  returned?: number
  result?: Result
  /** From the header of the reply. */
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

/** One connection that was admitted, and everything that came on it, in order. */
export interface Conversation {
  readonly client: string
  readonly session: bigint
  readonly server: string
  /** Which life of the server it was. */
  readonly life: number
  readonly frames: Frame[]
}

export interface SessionRecord {
  readonly id: bigint
  readonly client: string
  readonly timeoutMs: number
  readonly created: number
  /** When the client was told that the session is no more. */
  ended?: number
  /** The client asked for its end. */
  closing?: Operation
}

export class History {
  readonly operations: Operation[] = []
  /** Of those who change the members: nobody is asked what they were answered. */
  readonly adminSessions = new Set<bigint>()
  readonly conversations: Conversation[] = []
  readonly sessions = new Map<bigint, SessionRecord>()
  /** What a client noticed at once and can only be a bug. */
  readonly complaints: string[] = []
  private place = 0

  next(): number {
    return this.place++
  }

  get now(): number {
    return this.place
  }
}
