/** One side of a SASL exchange, on one connection. */
export interface SaslExchange {
  /** What to say first; the server may insist on being asked with nothing. */
  readonly first: Uint8Array
  /** What to say to a challenge; undefined when the server has proven itself and all is said. Throws if it has not. */
  answer(challenge: Uint8Array): Uint8Array | undefined
}
