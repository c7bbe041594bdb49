import type { ServerId } from '@zabra/core'
import {
  MalformedError,
  PacketReader,
  packetTypes,
  readInitialMessage,
  readLearnerInfo,
} from '@zabra/protocol'
import type { Receiver } from '../base/read-buffer.ts'

/**
 * Reads which server a connection claims to come from. Returns undefined while more bytes are needed, and
 * an undefined `server` if the connection makes no claim. Throws a MalformedError.
 */
export type ReadClaim = (bytes: Uint8Array) => { readonly server: ServerId | undefined } | undefined

export interface ClaimGateParts {
  readonly read: ReadClaim
  /** Resolves to the reason to refuse the claim; to undefined if the certificate supports it. */
  readonly check: (server: ServerId) => Promise<string | undefined>
  /** Returns the receiver of everything that has arrived and will arrive. */
  readonly passed: () => Receiver | undefined
  readonly refused: (reason: string) => void
}

/** A server sends little before it gets an answer, so a connection that sends more is refused. */
const keptBytesMax = 64 * 1024

/** Holds the bytes of a connection until its claim to be a certain server is checked. */
export class ClaimGate implements Receiver {
  private readonly parts: ClaimGateParts
  private kept: Uint8Array = new Uint8Array(0)
  private state: 'reading' | 'checking' | 'passed' | 'refused' = 'reading'
  private next: Receiver | undefined

  constructor(parts: ClaimGateParts) {
    this.parts = parts
  }

  receive(bytes: Uint8Array, length: number): void {
    if (this.state === 'passed') this.next?.receive(bytes, length)
    if (this.isDecided) return
    this.kept = Buffer.concat([this.kept, bytes.subarray(0, length)])
    if (this.state === 'reading') this.readClaim()
    if (this.isDecided || this.kept.length <= keptBytesMax) return
    this.refuse('it sent too much before its id was checked')
  }

  private get isDecided(): boolean {
    return this.state === 'passed' || this.state === 'refused'
  }

  private readClaim(): void {
    try {
      const claim = this.parts.read(this.kept)
      if (claim === undefined) return
      this.state = 'checking'
      if (claim.server === undefined) this.pass()
      else void this.check(claim.server)
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error
      this.refuse(error.message)
    }
  }

  private async check(server: ServerId): Promise<void> {
    const problem = await this.parts.check(server)
    // The gate may have refused the connection during the check.
    if (this.isDecided) return
    if (problem === undefined) this.pass()
    else this.refuse(problem)
  }

  private pass(): void {
    const { kept } = this
    this.state = 'passed'
    this.kept = new Uint8Array(0)
    this.next = this.parts.passed()
    this.next?.receive(kept, kept.length)
  }

  private refuse(reason: string): void {
    this.state = 'refused'
    this.kept = new Uint8Array(0)
    this.parts.refused(reason)
  }
}

/** The claim on the election port: the id in the initial message. */
export const readElectionClaim: ReadClaim = (bytes) => {
  const read = readInitialMessage(bytes)
  return read === undefined ? undefined : { server: read.message.serverId }
}

/** The claim on the quorum port: the id in the first packet of a learner. */
export const readLearnerClaim: ReadClaim = (bytes) => {
  const reader = new PacketReader()
  reader.push(bytes)
  const packet = reader.next()
  if (packet === undefined) return undefined
  const { followerInfo, observerInfo } = packetTypes
  const isHello = packet.type === followerInfo || packet.type === observerInfo
  return { server: isHello ? readLearnerInfo(packet.data)?.serverId : undefined }
}
