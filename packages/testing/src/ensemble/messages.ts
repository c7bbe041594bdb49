/** The messages between a server's thread and its owner. */

/** The name that monitoring tools use. */
export type Role = 'standalone' | 'leader' | 'follower' | 'observer' | 'looking' | 'read-only'

/** The status of a server, sent whenever it changes. */
export interface Status {
  readonly role: Role
  readonly isServing: boolean
  /**
   * The epoch of the newest applied transaction: of two leaders, the one with the newer epoch is
   * right.
   */
  readonly epoch: bigint
}

/** `again`: its client connected in between, or there is no leader. */
export type SessionEnd = 'done' | 'gone' | 'again'

export type ToServer =
  | { readonly type: 'stop' }
  /** The thread blocks until the number in the cell is no longer 0. */
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
