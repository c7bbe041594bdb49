/**
 * The environment of a client. `node-host/` implements it for Node; simulations have their own.
 */

/** The address of a server. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
}

/** A byte stream to a server, open or still connecting. */
export interface Stream {
  /** Returns whether the bytes were taken at once, so that the caller may reuse their buffer. */
  write(bytes: Uint8Array): boolean
  /** Whether the caller should wait for `drained`, because many bytes wait to be sent. */
  readonly isFull: boolean
  /** Closes the stream at once. No further events come from it. */
  close(): void
}

/** Events of a stream. */
export interface StreamEvents {
  opened(): void
  /** The first `length` bytes were received; the buffer is reused after the call. */
  received(bytes: Uint8Array, length: number): void
  /** All pending bytes are on their way, after the stream was full. */
  drained(): void
  /** The stream has ended, or could not be opened. */
  closed(error: Error | undefined): void
}

/** Streams, time and randomness. */
export interface Host {
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number
  /** At least 0, less than 1. */
  random(): number
  /** Calls back once after this time; returns a function that cancels it. */
  timer(ms: number, callback: () => void): () => void
  /** Calls back after the current code has finished, but before any other event. */
  defer(callback: () => void): void
  /** Names are resolved at every call. No event comes before this returns. */
  open(server: ServerAddress, events: StreamEvents): Stream
  /** Publishes events; on Node through `diagnostics_channel`. */
  channel?(name: string): Channel
  /** The time of day, in milliseconds since 1970: to notice when somebody sets the clock. */
  wallMs?(): number
  /** The name of this process, for people: `host:pid`. */
  readonly processName?: string
}

export interface Channel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

/** Under this name simulations tell every copy of this package who the host is. */
const ambient = Symbol.for('zabra.host')

/** The host of clients that are made without one, where a simulation runs the program. */
export function ambientHost(): Host | undefined {
  const find: unknown = Reflect.get(globalThis, ambient)
  return typeof find === 'function' ? (find as () => Host | undefined)() : undefined
}

/**
 * From now on this function is asked for the host of every client that is made without one. It
 * answers undefined outside of a simulated program. Returns a function that ends this.
 */
export function provideHost(find: () => Host | undefined): () => void {
  const before: unknown = Reflect.get(globalThis, ambient)
  Reflect.set(globalThis, ambient, find)
  return () => void Reflect.set(globalThis, ambient, before)
}
