import type { Acl } from '@zabra/protocol'
import type { Codec, StandardSchema } from './codec.ts'
import type { Host } from './host.ts'
import type { OneShotWatch } from './machine/watch-registry.ts'
import type { Logger } from './operator-log.ts'
import type { ResumableSession } from './state.ts'
import type { TlsOptions } from './transport/tls.ts'

/** How a client connects, and its defaults. */
export interface ClientOptions {
  /** `host:port,host:port/chroot`, or a list of servers. */
  readonly servers: string | readonly string[]
  /**
   * How long the session survives a lost connection; the server has its limits. 30 s by default.
   */
  readonly sessionTimeoutMs?: number
  /** A session to take over. */
  readonly session?: ResumableSession | undefined
  /** Whether a server without a quorum is acceptable, for reads. */
  readonly readOnly?: boolean
  /** Identities for every connection. */
  readonly auth?: readonly AuthOption[]
  /** TLS, with Node's defaults or with options of `tls.connect`. */
  readonly tls?: boolean | TlsOptions
  /** SASL DIGEST-MD5 on every connection. A server that refuses it closes the client. */
  readonly sasl?: SaslOptions
  /**
   * Where the session runs: in the main thread, or in its own thread, so that a busy program does
   * not lose it. See docs/client.md for what that means for locks.
   */
  readonly keepAlive?: 'loop' | 'worker'
  /**
   * The deadline of calls that set none, for the reply and for the connection that it needs. 30 s
   * by default; `Infinity` for none. Recipes have their own deadlines.
   */
  readonly callTimeoutMs?: number
  /**
   * The deadline of `connect` and `connected()`. 15 s by default; `Infinity` for none. If it is set,
   * the servers share it for the first connection, so that a silent one does not use it up.
   */
  readonly connectTimeoutMs?: number
  /**
   * Receives messages for operators: `console`, or a logger with `warn` and `info`. None by
   * default.
   */
  readonly logger?: Logger
  /** With a `logger`: warn about requests that take this long. 5 s by default. */
  readonly slowRequestMs?: number
  /**
   * Include the caller in the stack of an error. Errors are made when a reply arrives, and
   * otherwise end in the socket. Costs a microsecond or two per call; off by default.
   */
  readonly callerStacks?: boolean
  /** Which requests are sent again after a lost connection. */
  readonly retry?: RetryPolicy
  /**
   * The ACL of the nodes that this client creates, including those of recipes, unless another one
   * is given. Everybody may do everything (`openAcl`) by default.
   */
  readonly acl?: readonly Acl[]
  /**
   * A longer request fails with a RangeError and is not sent: a server would close the connection
   * because of it, which would suspend the session. 1,048,575 by default, the default of servers
   * (`jute.maxbuffer`); never more than all of them accept.
   */
  readonly requestBytesMax?: number
  /** After expiry, make a new session (`renew`, the default) or close the client (`end`). */
  readonly onExpiry?: 'renew' | 'end'
  /** Do not keep the process alive for this client, not even during a call. */
  readonly unref?: boolean
  /**
   * How long to poll for an answer before the loop sleeps, if the last one came as quickly: for
   * consecutive calls to a nearby server. 250 by default; 0 is never.
   */
  readonly answerPollMicros?: number
  /** Streams, time and randomness, for simulations; Node's by default. */
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
 * Reads are repeated automatically after a lost connection. A create with `protect` is also
 * repeated, until its outcome is known.
 */
export interface RetryPolicy {
  /** How often one call is sent again before it fails. 10 by default; 0 is never. */
  readonly repeatsMax?: number
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** How long to wait for the reply; `Infinity` is without end. */
  readonly timeoutMs?: number | undefined
}

/**
 * How current a read must be. `local`: what this server has applied. `session`: in addition,
 * everything that this client wrote, even if a reply was lost. `linearizable`: everything that was
 * committed when the call was made.
 */
export type Consistency = 'local' | 'session' | 'linearizable'

export interface ReadOptions extends CallOptions {
  /** `local` by default. */
  readonly consistency?: Consistency | undefined
}

export interface WatchableReadOptions extends ReadOptions {
  /** Called once, at the next change; see `watch()` for more. */
  readonly watch?: OneShotWatch | undefined
}

export interface CreateOptions extends CallOptions {
  /** Deleted at the end of the session. */
  readonly ephemeral?: boolean | undefined
  /** A growing number is appended to the name. */
  readonly sequential?: boolean | undefined
  /** Deleted some time after its last child. */
  readonly container?: boolean | undefined
  /**
   * Deleted when it has no children and was not changed for this long; the server must allow it.
   */
  readonly ttlMs?: number | undefined
  /** By default that of the client. */
  readonly acl?: readonly Acl[] | undefined
  /** Creates missing parents first, like `ensure`; `true` uses its defaults. */
  readonly parents?: boolean | ParentOptions | undefined
  /**
   * After a lost reply the client looks for the node, and never leaves an orphan: the name gets a
   * prefix to find it by.
   */
  readonly protect?: boolean | undefined
}

/** Options of `put`. */
export interface PutNodeOptions extends CallOptions {
  /** For the node, if it is created; by default that of the client. */
  readonly acl?: readonly Acl[] | undefined
  /** Create missing parents as well. */
  readonly parents?: boolean | ParentOptions | undefined
}

/** Options for missing parents. */
export interface ParentOptions {
  /** Created nodes are deleted some time after their last child. */
  readonly container?: boolean | undefined
  /** By default that of the client. */
  readonly acl?: readonly Acl[] | undefined
}

export interface WriteOptions extends CallOptions {
  /** Rejects with `badVersion` if the node has another version; any by default. */
  readonly ifVersion?: number | 'any' | undefined
}

export interface WithCodec<T> {
  readonly codec: Codec<T>
}

/** Options of `ensure`. */
export interface EnsureOptions extends CallOptions, ParentOptions {}

/** Options of `reconfig`. */
export interface ReconfigOptions extends CallOptions {
  /** `server.4=host:2888:3888;2181`, one or several. */
  readonly joining?: string | readonly string[] | undefined
  /** Ids of servers. */
  readonly leaving?: string | readonly string[] | undefined
  /** All members of the new configuration, instead of joining and leaving. */
  readonly newMembers?: string | readonly string[] | undefined
  /** The version of the configuration that this change is based on. */
  readonly ifVersion?: bigint | undefined
}

/** A schema for the JSON value. */
export interface WithSchema<T> {
  readonly schema?: StandardSchema<T> | undefined
}
