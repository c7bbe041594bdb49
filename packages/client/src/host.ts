/** What a client asks of the world. Node answers in `node-host/`, a simulation in its own way. */

/** Where a server listens. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
}

/** A stream of bytes to a server, being opened or open. */
export interface Stream {
  /** Answers whether the bytes were taken at once, so that the caller may reuse their buffer. */
  write(bytes: Uint8Array): boolean
  /** So much waits to be sent that more had better wait for `drained`. */
  readonly isFull: boolean
  /** Ends it at once. Nothing is heard of it afterwards. */
  close(): void
}

/** What is heard of a stream. */
export interface StreamEvents {
  opened(): void
  /** The first `length` of the bytes are news; the buffer is only lent. */
  received(bytes: Uint8Array, length: number): void
  /** After it was full: all that was written is on its way. */
  drained(): void
  /** It is over, or was never opened. */
  closed(error: Error | undefined): void
}

/** Streams, time and chance. */
export interface Host {
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number
  /** At least 0, less than 1. */
  random(): number
  /** Calls back once, after so long; answers how to take that back. */
  timer(ms: number, callback: () => void): () => void
  /** Calls back when what runs now has come to its end, but before anything else happens. */
  defer(callback: () => void): void
  /** Names are resolved anew each time. Nothing is heard of the stream before this returns. */
  open(server: ServerAddress, events: StreamEvents): Stream
  /** Where to publish what happens; on Node a `diagnostics_channel`. */
  channel?(name: string): Channel
  /** The time of day, in ms since 1970: to notice when somebody sets the clock. */
  wallMs?(): number
  /** Which process this is, for people to read: `host:pid`. */
  readonly processName?: string
}

export interface Channel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}
