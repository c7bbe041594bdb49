/** One side of a SASL exchange, on one connection. */
export interface SaslExchange {
  /** The first message; servers may expect an empty one. */
  readonly first: Uint8Array
  /**
   * The answer to a challenge; undefined once the server has proven itself and nothing is left to
   * send. Throws if it has not.
   */
  answer(challenge: Uint8Array): Uint8Array | undefined
}
