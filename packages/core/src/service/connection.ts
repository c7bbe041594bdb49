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
  /** `connection.out` is long: it is to be sent now, and nothing else done meanwhile. */
  flushNow(): void
  /** To be closed once everything in `connection.out` is sent. */
  close(): void
  /** What was handed over by flushing and has not left yet. */
  readonly unsentBytes: number
  /** Stop, or go on, delivering received bytes. */
  pause(): void
  resume(): void
}

/** A read that waits for writes of its own connection, or a refusal that waits for its turn. */
export interface QueuedRead {
  readonly kind: 'read'
  readonly xid: number
  readonly type: number
  /** The body, kept; undefined where only `error` is to be answered. */
  readonly body: Uint8Array | undefined
  readonly error: number
  readonly receivedMs: number
  /** Its length, where it counts against the bytes in flight. */
  weighedBytes?: number
  /** Those the connection had when the request was read; what is proven later is for later ones. */
  readonly identities: Id[]
}
export type Queued = QueuedRead | WriteTicket

/** Notifications beyond this do not wait for the end of the turn. */
const notificationBytesMax = 256 * 1024

type State = 'greeting' | 'connecting' | 'open' | 'closed'

/** One client connection: who it is, what it waits for, and what it is about to be sent. */
export class ClientConnection implements Requester, FrameSink {
  readonly link: ClientLink
  readonly out: Writer
  readonly cutter: FrameCutter
  readonly openedMs: number
  readonly openedWallMs: number
  identities: Id[]
  /** Begun by the client's first token. */
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
  /** Reading stopped because too much is outstanding. */
  isThrottled = false
  /** Its requests wait until its client reads answers, and count no more as in flight. */
  isParked = false
  /** Bytes of its requests in flight that are weighed. */
  heldBytes = 0
  /** Since when what it sent has had to wait; undefined when nothing does. */
  waitingSinceMs: number | undefined
  /** What is read now has waited longer than it may. */
  isLate = false
  /** A password that is looked at later, because too many were wrong. */
  delayedAuth:
    | { readonly xid: number; readonly body: Uint8Array; readonly atMs: number }
    | undefined
  /** Told of the length of a frame of which a part has come. */
  announce: ((bytes: number) => void) | undefined
  /** Oldest first; replies leave in this order. */
  readonly queue = new Fifo<Queued>()
  private readonly onFrame: (
    connection: ClientConnection,
    bytes: Uint8Array,
    start: number,
    end: number,
  ) => boolean

  /** When bytes came last, and the longest time in which none did. */
  lastHeardMs: number
  longestGapMs = 0
  /** How it ended, as far as the host knows. */
  end: ConnectionEnd = 'server'

  // What monitoring shows.
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
    // One write can be told to many connections, and many writes come together.
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
