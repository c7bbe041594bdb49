import type { Socket } from 'node:net'
import { readInitialMessage, MalformedError } from '@zabra/protocol'
import { QuorumSaslAcceptor, QuorumSaslDialer } from '../auth/quorum-sasl.ts'
import type { QuorumSasl } from '../config/server-config.ts'
import type { Receiver } from '../base/read-buffer.ts'

/** How long the last bytes may take to leave. */
const lingerMs = 1000

/** A connection of the election port, as the core writes to it. */
export class ElectionConnection {
  readonly socket: Socket
  /** Writes that wait for the authentication; undefined if none is in progress. */
  private held: (() => void)[] | undefined
  /** Starts authentication after the first message. */
  private afterFirst: (() => void) | undefined

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** Delays everything after the first message until `release`. */
  holdAfterFirst(begin: () => void): void {
    this.afterFirst = begin
  }

  send(bytes: Uint8Array, sent: () => void): void {
    if (this.held !== undefined) {
      this.held.push(() => this.socket.write(bytes, sent))
      return
    }
    this.socket.write(bytes, sent)
    if (this.afterFirst === undefined) return
    const begin = this.afterFirst
    this.afterFirst = undefined
    this.held = []
    begin()
  }

  release(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const act of held) act()
  }

  /** Closes the connection after the pending bytes are sent. */
  end(): void {
    if (this.held === undefined) this.socket.end()
    else this.held.push(() => this.socket.end())
    setTimeout(() => this.socket.destroy(), lingerMs).unref()
  }
}

/**
 * Takes an accepted connection up to the end of its authentication, which follows the first
 * message. Then that message and all further bytes go to the receiver that `passed` returns.
 */
export class AuthenticatedIntroduction implements Receiver {
  private readonly sasl: QuorumSasl
  private readonly socket: Socket
  private readonly passed: () => Receiver
  private readonly refused: (reason: string) => void
  private kept: Uint8Array = new Uint8Array(0)
  private next: Receiver | undefined
  private isRefused = false

  constructor(
    sasl: QuorumSasl,
    socket: Socket,
    to: { readonly passed: () => Receiver; readonly refused: (reason: string) => void },
  ) {
    this.sasl = sasl
    this.socket = socket
    this.passed = to.passed
    this.refused = to.refused
  }

  receive(bytes: Uint8Array, length: number): void {
    if (this.next !== undefined) {
      this.next.receive(bytes, length)
      return
    }
    // The connection stays open for a moment, so that the other side can read the refusal.
    if (this.isRefused) return
    this.kept = Buffer.concat([this.kept, bytes.subarray(0, length)])
    try {
      const read = readInitialMessage(this.kept)
      if (read !== undefined) this.authenticate(read.length)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.isRefused = true
      this.kept = new Uint8Array(0)
      this.refused(error.message)
    }
  }

  private authenticate(introductionBytes: number): void {
    const introduction = this.kept.subarray(0, introductionBytes)
    const rest = this.kept.subarray(introductionBytes)
    const acceptor = new QuorumSaslAcceptor(this.sasl, {
      send: (bytes) => this.socket.write(bytes),
      passed: () => {
        const receiver = this.passed()
        receiver.receive(introduction, introduction.length)
        return receiver
      },
      refused: this.refused,
    })
    this.next = acceptor
    if (rest.length > 0) acceptor.receive(rest, rest.length)
  }
}

/** Authenticates to the other side after the connection's first message. */
export function authenticateElection(
  own: NonNullable<QuorumSasl['own']>,
  connection: ElectionConnection,
  to: { readonly passed: () => Receiver; readonly refused: (reason: string) => void },
): Receiver {
  const { socket } = connection
  const dialer = new QuorumSaslDialer(own, {
    send: (bytes) => socket.write(bytes),
    passed: () => {
      connection.release()
      return to.passed()
    },
    refused: to.refused,
  })
  connection.holdAfterFirst(() => dialer.start())
  return dialer
}
