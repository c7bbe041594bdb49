import type { Acl } from '@zabra/protocol'
import type { Codec } from './codec.ts'
import type { Host } from './host.ts'
import type { OneShotWatch } from './machine/watch-registry.ts'
import type { Logger } from './operator-log.ts'
import type { ResumableSession } from './state.ts'
import type { TlsOptions } from './transport/tls.ts'

/** How a client connects, and what holds for all that it does. */
export interface ClientOptions {
  /** `host:port,host:port/chroot`, or a list of servers. */
  readonly servers: string | readonly string[]
  /** How long the session outlives a lost connection; the server has its bounds. 30 s by default. */
  readonly sessionTimeoutMs?: number
  /** A session to go on with. */
  readonly session?: ResumableSession | undefined
  /** Whether a server without a quorum will do, for reads. */
  readonly readOnly?: boolean
  /** Identities for every connection. */
  readonly auth?: readonly AuthOption[]
  /** TLS, with Node's defaults or with options of `tls.connect`. */
  readonly tls?: boolean | TlsOptions
  /** SASL DIGEST-MD5 on every connection. A server that refuses it closes the client. */
  readonly sasl?: SaslOptions
  /**
   * Where the session lives: on this program's loop, or in a thread of its own, where a busy
   * program does not end it. See docs/client.md for what that means for locks.
   */
  readonly keepAlive?: 'loop' | 'worker'
  /**
   * The deadline of calls that name none, for the reply and for the connection that it needs. 30 s by
   * default; `Infinity` for none. Recipes have deadlines of their own.
   */
  readonly callTimeoutMs?: number
  /** The deadline of `connect` and `connected()`. 15 s by default; `Infinity` for none. */
  readonly connectTimeoutMs?: number
  /**
   * Where to write what an operator wants to know: `console`, or a logger with `warn` and `info`.
   * Nothing is written by default.
   */
  readonly logger?: Logger
  /** With a `logger`: requests that take this long are warned of. 5 s by default. */
  readonly slowRequestMs?: number
  /**
   * Let the stack of an error name the caller. Errors are made when a reply comes, and end in the
   * socket otherwise. Costs a microsecond or two for each call; off by default.
   */
  readonly callerStacks?: boolean
  /** What is sent again after a lost connection. */
  readonly retry?: RetryPolicy
  /**
   * Who may do what with the nodes that this client makes, recipes included, unless something else
   * is said. Everybody everything (`openAcl`), by default.
   */
  readonly acl?: readonly Acl[]
  /**
   * A longer request fails with a RangeError and is not sent: a server would close the connection
   * over it, and with that suspend whatever this client holds. 1,048,575 by default, as servers
   * have it (`jute.maxbuffer`); never more than all of them take.
   */
  readonly requestBytesMax?: number
  /** After expiry make a new session (`renew`, the default), or be closed (`end`). */
  readonly onExpiry?: 'renew' | 'end'
  /** Do not keep the process alive for this client, not even while a call is on its way. */
  readonly unref?: boolean
  /**
   * How long to look for an answer before going to sleep, where the last one came as quickly: for
   * calls one after another to a server next door. 250 by default; 0 is never.
   */
  readonly answerPollMicros?: number
  /** Streams, time and chance, for simulations; Node's by default. */
  readonly host?: Host
}

export interface SaslOptions {
  readonly username: string
  readonly password: string
}

export interface AuthOption {
  readonly scheme: string
  readonly credentials: string | Uint8Array
}

/**
 * What is repeated by itself after a lost connection: reads. A create with `protect` is another
 * matter: it goes on until it is known what became of it.
 */
export interface RetryPolicy {
  /** How often one call is sent again before it fails. 10 by default; 0 is never. */
  readonly repeatsMax?: number
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** How long to wait for the reply; `Infinity` is without end. */
  readonly timeoutMs?: number | undefined
}

/**
 * What a read may show. `local`: what this server has. `session`: besides, all that this client
 * wrote, also where a reply was lost. `linearizable`: all that was committed when it was asked.
 */
export type Consistency = 'local' | 'session' | 'linearizable'

export interface ReadOptions extends CallOptions {
  /** `local` by default. */
  readonly consistency?: Consistency | undefined
}

export interface WatchableReadOptions extends ReadOptions {
  /** Called once, at the next change; see `watch()` for more than that. */
  readonly watch?: OneShotWatch | undefined
}

export interface CreateOptions extends CallOptions {
  /** Goes with the session. */
  readonly ephemeral?: boolean | undefined
  /** A growing number is appended to the name. */
  readonly sequential?: boolean | undefined
  /** Goes some time after its last child. */
  readonly container?: boolean | undefined
  /** Goes when it was not changed for so long and has no children; the server must allow it. */
  readonly ttlMs?: number | undefined
  /** That of the client, by default. */
  readonly acl?: readonly Acl[] | undefined
  /** Parents that are missing are made first, as `ensure` makes them; `true` is with its defaults. */
  readonly parents?: boolean | ParentOptions | undefined
  /** A lost reply is looked for, and never leaves an orphan: the name gets a prefix to find it by. */
  readonly protect?: boolean | undefined
}

/** Options of `put`. */
export interface PutNodeOptions extends CallOptions {
  /** Of the node, where it is created; that of the client, by default. */
  readonly acl?: readonly Acl[] | undefined
  /** Create missing parents as well. */
  readonly parents?: boolean | ParentOptions | undefined
}

/** What parents are to be that are not there. */
export interface ParentOptions {
  /** What is made goes some time after its last child. */
  readonly container?: boolean | undefined
  /** That of the client, by default. */
  readonly acl?: readonly Acl[] | undefined
}

export interface WriteOptions extends CallOptions {
  /** Refused where the node has another version; any will do by default. */
  readonly ifVersion?: number | 'any' | undefined
}

export interface WithCodec<T> {
  readonly codec: Codec<T>
}
