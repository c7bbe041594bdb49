import type { ConnectionThrottleOptions } from './connection-throttle.ts'
import type { ServiceLimits } from './limits.ts'

export interface PipelineOptions {
  readonly sessionTimeoutMsMin: number
  readonly sessionTimeoutMsMax: number
  /** Requests in flight beyond which connections that have some are not read from. */
  readonly outstandingMax: number
  readonly frameBytesMax: number
  /** How long a connection may take to introduce itself. */
  readonly sessionlessTimeoutMs: number
  /** A connection must prove an identity of one of these schemes before anything else; empty: none. */
  readonly requiredSchemes: readonly string[]
  readonly connectionThrottle?: ConnectionThrottleOptions | undefined
  /** The total size of all requests in flight that are longer than `threshold`. */
  readonly largeRequests?: { readonly threshold: number; readonly bytesMax: number } | undefined
  /** The handling of requests that waited because too many were in flight. */
  readonly waiting?: WaitingOptions | undefined
  readonly limits?: Partial<ServiceLimits> | undefined
}

export interface WaitingOptions {
  /** A request that has waited longer than its session's timeout is stale. */
  readonly staleAfterTimeout: boolean
  /** A stale request costs its connection; otherwise it is only counted. */
  readonly dropStale: boolean
  /** After this long a request is refused instead; 0: never. */
  readonly refuseAfterMs: number
}

/** The time, as the host last told it. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  nowMs: number
  /** Milliseconds since 1970, as transactions are stamped. */
  wallMs: number
}
