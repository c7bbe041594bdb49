/**
 * Bounds on what clients can make this server hold or do at a time. Whatever the host does not set
 * has the default here.
 */
export interface ServiceLimits {
  /** Requests in flight of one connection; beyond it the connection is not read from. */
  readonly outstandingPerConnection: number
  /** Bytes of large requests in flight, of all connections; beyond it those that have some wait. */
  readonly outstandingBytes: number
  /** The same of one connection. */
  readonly outstandingBytesPerConnection: number
  /** Bytes of replies that one connection has not read; beyond it its reads wait. */
  readonly unreadBytes: number
  /** Bytes that nothing can keep back, such as notifications; beyond it the connection is closed. */
  readonly unreadBytesMax: number
  /** Bytes of the reply to one multiRead. */
  readonly multiReadBytes: number
  /** Watches of one connection; a path counts once more for each 256 characters. */
  readonly watchesPerSession: number
  /** Watches of all connections, counted in the same way. */
  readonly watches: number
  /** Identities that one connection proves. */
  readonly identities: number
  /** Bytes of these identities, which travel with every write to the leader. */
  readonly identityBytes: number
}

export const defaultLimits: ServiceLimits = {
  outstandingPerConnection: 1000,
  outstandingBytes: 128 * 1024 * 1024,
  outstandingBytesPerConnection: 32 * 1024 * 1024,
  unreadBytes: 1024 * 1024,
  unreadBytesMax: 64 * 1024 * 1024,
  multiReadBytes: 4 * 1024 * 1024,
  watchesPerSession: 200_000,
  watches: 2_000_000,
  identities: 256,
  identityBytes: 64 * 1024,
}

/** The limits that a client can run into, by the names that metrics and log lines use. */
export const limitNames = [
  'outstanding_requests',
  'outstanding_requests_per_connection',
  'outstanding_bytes',
  'outstanding_bytes_per_connection',
  'unread_replies',
  'unread_bytes',
  'unread_bytes_total',
  'multi_operations',
  'multi_read_bytes',
  'identities',
  'watches_per_session',
  'watches',
  'connections',
  'connections_per_address',
  'handshakes',
  'peer_connections',
  'http_connections',
  'event_streams',
  'session_rate',
  'request_bytes',
  'password_guesses',
] as const
export type LimitName = (typeof limitNames)[number]

/** How often each limit was reached. */
export type LimitCounts = Record<LimitName, number>

export function noLimitReached(): LimitCounts {
  return Object.fromEntries(limitNames.map((name) => [name, 0])) as LimitCounts
}

/** Only requests longer than this are weighed: shorter ones are bounded by their number. */
export const weighedBytesMin = 4096
