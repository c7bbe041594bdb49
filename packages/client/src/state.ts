/** A session as the server knows it. */
export interface SessionInfo {
  readonly id: bigint
  readonly password: Uint8Array
  /** What the server agreed to, not what was asked for. */
  readonly timeoutMs: number
}

/** All that is needed to go on with a session from elsewhere. */
export interface ResumableSession {
  readonly id: bigint
  readonly password: Uint8Array
  readonly lastZxid?: bigint
}

/** Where a client stands; see docs/client.md for what leads where. */
export type State =
  /** There is no session yet. */
  | { readonly name: 'connecting' }
  | {
      readonly name: 'connected'
      readonly session: SessionInfo
      /** The session was there before, with its ephemeral nodes and watches. */
      readonly resumed: boolean
      /** The server has no quorum: it answers reads only. */
      readonly readOnly: boolean
      readonly server: string
    }
  | {
      readonly name: 'suspended'
      readonly session: SessionInfo
      /** By the client's clock (`client.nowMs()`): then at the latest the session counts as expired. */
      readonly expiresAtMs: number
    }
  | { readonly name: 'expired'; readonly session: SessionInfo }
  | { readonly name: 'closed' }
