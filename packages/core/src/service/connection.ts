import { FrameCutter, Writer, type CodecMemory, type FrameSink, type Id } from '@zabra/protocol'
import { Fifo } from '../base/fifo.ts'
import type { Requester } from '../operations/operation.ts'
import type { SaslExchange } from '../ports.ts'
import type { ConnectionEnd } from './sessions/session-ends.ts'
import type { Session } from './sessions/tracker.ts'
import { Summary } from '../base/statistics.ts'
import type { WriteTicket } from './write-ticket.ts'

/** The host's side of a connection: the socket. */
export interface ClientLink {
  /** The client's address, without port. */
  readonly address: string
  /** `connection.out` has something to send before this turn ends. */
  flushSoon(): void
  /** `connection.out` is long: it must be sent before anything else is done. */
  flushNow(): void
  /** Closes the connection once everything in `connection.out` is sent. */
  close(): void
  /** Bytes that were flushed and have not been sent yet. */
  readonly unsentBytes: number
  /** Stop, or go on, delivering received bytes. */
  pause(): void
  resume(): void
}

/** A read that waits for earlier writes of its connection, or a refusal that waits for its turn. */
export interface QueuedRead {
  readonly kind: 'read'
  readonly xid: number
  readonly type: number
  /** A copy of the body; undefined if the reply is only `error`. */
  readonly body: Uint8Array | undefined
  readonly error: number
  readonly receivedMs: number
  /** Its length, if it counts against the bytes in flight. */
  weighedBytes?: number
  /** The identities of the connection when the request was read. */
  readonly identities: Id[]
}
export type Queued = QueuedRead | WriteTicket

/** More notifications than this are sent before the end of the turn. */
const notificationBytesMax = 256 * 1024

type State = 'greeting' | 'connecting' | 'open' | 'closed'

/** One client connection: its identities, its requests in flight, and the bytes to send. */
export class ClientConnection implements Requester, FrameSink {
  readonly link: ClientLink
  readonly out: Writer
  readonly cutter: FrameCutter
  readonly openedMs: number
  readonly openedWallMs: number
  identities: Id[]
  /** Started by the client's first token. */
  sasl: SaslExchange | undefined
  state: State = 'greeting'
  session: Session | undefined
  sessionId = 0n
  timeoutMs = 0
  /** Whether the client's handshake knows the read-only flag. */
  knowsReadOnly = false
  lastFiring = 0
  watchWeight = 0
  readonly multiReadBytesMax: number
  /** Not read from, because a limit was reached. */
  isThrottled = false
  /** Its requests wait until the client reads replies, and do not count as in flight. */
  isParked = false
  /** Bytes of its requests in flight that are weighed. */
  heldBytes = 0
  /** When its unread requests began to wait; undefined if none wait. */
  waitingSinceMs: number | undefined
  /** The request that is read now has waited too long. */
  isLate = false
  /** A password that is checked later, because too many were wrong. */
  delayedAuth:
    | { readonly xid: number; readonly body: Uint8Array; readonly atMs: number }
    | undefined
  /** Called with the length of a frame when a part of it has arrived. */
  announce: ((bytes: number) => void) | undefined
  /** Oldest first; replies leave in this order. */
  readonly queue = new Fifo<Queued>()
  private readonly onFrame: (
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ) => boolean

  /** When bytes came last, and the longest time without any. */
  lastHeardMs: number
  longestGapMs = 0
  /** How the connection ended, as far as the host knows. */
  end: ConnectionEnd = 'server'

  // For monitoring.
  packetsReceived = 0
  packetsSent = 0
  lastOperation = 0
  lastXid = -1
  lastZxid = -1n
  lastResponseMs = 0
  lastLatencyMs = 0
  readonly latency = new Summary()

  constructor(
    link: ClientLink,
    options: {
      frameBytesMax: number
      multiReadBytesMax: number
      memory: CodecMemory
      nowMs: number
      wallMs: number
    },
    onFrame: ClientConnection['onFrame'],
  ) {
    this.link = link
    this.out = new Writer(0, options.memory)
    this.cutter = new FrameCutter(options.frameBytesMax)
    this.multiReadBytesMax = options.multiReadBytesMax
    this.openedMs = this.lastHeardMs = options.nowMs
    this.openedWallMs = options.wallMs
    this.identities = [{ scheme: 'ip', id: link.address }]
    this.onFrame = onFrame
  }

  frame(bytes: Uint8Array, start: number, end: number): boolean {
    return this.onFrame(this, bytes, start, end)
  }

  deliver(frame: Uint8Array): void {
    if (this.state === 'closed') return
    this.out.raw(frame)
    this.packetsSent++
    // One write can notify many connections, and many writes commit together.
    if (this.out.position > notificationBytesMax) this.link.flushNow()
    else this.link.flushSoon()
  }

  resetStats(): void {
    this.packetsReceived = this.packetsSent = this.lastOperation = 0
    this.lastXid = -1
    this.lastZxid = -1n
    this.lastResponseMs = this.lastLatencyMs = 0
    this.latency.reset()
  }
}
