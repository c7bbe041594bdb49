import { encode, QuorumAuthPacket, quorumAuthMagic, quorumAuthStatuses } from '@zabra/protocol'
import type { QuorumSasl } from '../config/server-config.ts'
import type { Receiver } from '../base/read-buffer.ts'
import { DigestMd5Client, DigestMd5Server, quorumService } from './digest-md5.ts'

/** Magic, status and the length of the token. */
const headerBytes = 16
const magicBytes = 8
/** Larger than any token of DIGEST-MD5. */
const tokenBytesMax = 16 * 1024

const { inProgress, success, error } = quorumAuthStatuses

export interface SaslOutcome {
  readonly send: (bytes: Uint8Array) => void
  /** Called on success; returns the receiver of all further bytes. */
  readonly passed: () => Receiver | undefined
  /** Called on failure; the connection must be closed after pending bytes are sent. */
  readonly refused: (reason: string) => void
}

interface Packet {
  readonly status: number
  readonly token: Uint8Array
}

/** The shared part of both sides: reads packets, then passes further bytes on. */
abstract class QuorumSaslSide implements Receiver {
  protected readonly outcome: SaslOutcome
  protected kept: Uint8Array = new Uint8Array(0)
  private next: Receiver | undefined
  private isOver = false

  constructor(outcome: SaslOutcome) {
    this.outcome = outcome
  }

  receive(bytes: Uint8Array, length: number): void {
    if (this.isOver) {
      this.next?.receive(bytes, length)
      return
    }
    this.kept = Buffer.concat([this.kept, bytes.subarray(0, length)])
    this.advance()
  }

  protected abstract advance(): void

  /** The next packet; undefined while it is incomplete, or after an invalid one. */
  protected takePacket(): Packet | undefined {
    if (this.kept.length < headerBytes) return undefined
    const view = Buffer.from(this.kept.buffer, this.kept.byteOffset, this.kept.length)
    const length = Math.max(0, view.readInt32BE(12))
    if (view.readBigInt64BE() !== quorumAuthMagic || length > tokenBytesMax) {
      this.refuse('it sent no valid authentication packet')
      return undefined
    }
    if (this.kept.length < headerBytes + length) return undefined
    const status = view.readInt32BE(magicBytes)
    const token = this.kept.subarray(headerBytes, headerBytes + length)
    this.kept = this.kept.subarray(headerBytes + length)
    return { status, token }
  }

  protected send(status: number, token: Uint8Array): void {
    this.outcome.send(encode(QuorumAuthPacket, { magic: quorumAuthMagic, status, token }))
  }

  protected pass(): void {
    this.isOver = true
    this.next = this.outcome.passed()
    if (this.kept.length > 0) this.next?.receive(this.kept, this.kept.length)
  }

  protected refuse(reason: string): void {
    this.isOver = true
    this.outcome.refused(reason)
  }
}

/** Authenticates a server that has connected. */
export class QuorumSaslAcceptor extends QuorumSaslSide {
  private readonly sasl: QuorumSasl
  private readonly server: DigestMd5Server
  private isAuthenticating = false

  constructor(sasl: QuorumSasl, outcome: SaslOutcome) {
    super(outcome)
    this.sasl = sasl
    this.server = new DigestMd5Server(sasl.users, quorumService)
  }

  protected advance(): void {
    if (!this.isAuthenticating) {
      if (this.kept.length < magicBytes) return
      const view = Buffer.from(this.kept.buffer, this.kept.byteOffset, this.kept.length)
      this.isAuthenticating = view.readBigInt64BE() === quorumAuthMagic
      if (!this.isAuthenticating) {
        if (this.sasl.isRequired) this.refuse('it does not authenticate')
        else this.pass()
        return
      }
    }
    for (let packet = this.takePacket(); packet !== undefined; packet = this.takePacket()) {
      const answer = this.server.answer(packet.token)
      if (answer === undefined) {
        this.send(error, new Uint8Array(0))
        this.refuse('its user or its password is wrong')
        return
      }
      this.send(answer.isOver ? success : inProgress, answer.token)
      if (answer.isOver) {
        this.pass()
        return
      }
    }
  }
}

/** Authenticates this server to one that it has connected to. */
export class QuorumSaslDialer extends QuorumSaslSide {
  private readonly client: DigestMd5Client

  constructor(own: NonNullable<QuorumSasl['own']>, outcome: SaslOutcome) {
    super(outcome)
    this.client = new DigestMd5Client(own, quorumService)
  }

  start(): void {
    this.send(inProgress, new Uint8Array(0))
  }

  protected advance(): void {
    for (let packet = this.takePacket(); packet !== undefined; packet = this.takePacket()) {
      const { status, token } = packet
      if (status === error) {
        this.refuse('it refuses our user and password')
        return
      }
      try {
        const answer = this.client.answer(token)
        if (status === success) {
          if (this.client.isOver) this.pass()
          else this.refuse('it did not prove that it knows the password')
          return
        }
        this.send(inProgress, answer)
      } catch (fault) {
        this.refuse((fault as Error).message)
        return
      }
    }
  }
}
