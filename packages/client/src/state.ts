/** A session as the server knows it. */
export interface SessionInfo {
  readonly id: bigint
  readonly password: Uint8Array
  /** The timeout that the server granted, not the requested one. */
  readonly timeoutMs: number
}

/** Everything that is needed to take over a session from elsewhere. */
export interface ResumableSession {
  readonly id: bigint
  readonly password: Uint8Array
  readonly lastZxid?: bigint
}

/** The state of a client; see docs/client.md for the transitions. */
export type State =
  /** There is no session yet. */
  | { readonly name: 'connecting' }
  | {
      readonly name: 'connected'
      readonly session: SessionInfo
      /** The session is an earlier one, with its ephemeral nodes and watches. */
      readonly resumed: boolean
      /** The server has no quorum: it answers reads only. */
      readonly readOnly: boolean
      readonly server: string
    }
  | {
      readonly name: 'suspended'
      readonly session: SessionInfo
      /**
       * By the client's clock (`client.nowMs()`): the session counts as expired at this time at the
       * latest.
       */
      readonly expiresAtMs: number
    }
  | { readonly name: 'expired'; readonly session: SessionInfo }
  | { readonly name: 'closed' }
