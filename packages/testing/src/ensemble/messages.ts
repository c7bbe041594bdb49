/** What a server's thread and its owner tell each other. */

/** As monitoring tools name it. */
export type Role = 'standalone' | 'leader' | 'follower' | 'observer' | 'looking' | 'read-only'

/** What a server says of itself, again whenever it changes. */
export interface Status {
  readonly role: Role
  readonly isServing: boolean
  /** Of the newest transaction it has applied: of two that lead, the one with the newer is right. */
  readonly epoch: bigint
}

/** `again`: its client came in between, or nobody leads. */
export type SessionEnd = 'done' | 'gone' | 'again'

export type ToServer =
  | { readonly type: 'stop' }
  /** The thread stands still until the number in the cell is not 0 any more. */
  | { readonly type: 'pause'; readonly cell: Int32Array }
  | { readonly type: 'endSession'; readonly id: bigint; readonly call: number }

export type FromServer =
  | { readonly type: 'started'; readonly clientPort: number; readonly adminAddress?: string }
  | { readonly type: 'failed'; readonly error: Error }
  | { readonly type: 'status'; readonly status: Status }
  | { readonly type: 'said'; readonly line: string }
  | { readonly type: 'paused' }
  | { readonly type: 'stopped' }
  | { readonly type: 'endedSession'; readonly call: number; readonly outcome: SessionEnd }
