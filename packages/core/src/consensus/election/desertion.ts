import type { QuorumVerifier, ServerId } from '../../membership/quorum.ts'

/**
 * Whether a server that was elected is deserted: for a while, too many voters have wanted another
 * leader for a quorum to form. It waits because its answer tells looking servers that it was elected,
 * and they may be about to follow. An established leader need not care: servers that come back vote
 * for themselves before they hear of it.
 */
export class Desertion {
  /** Voters that have wanted another leader since this server was elected. */
  private readonly deserters = new Set<ServerId>()
  /** Servers that follow this one. */
  private readonly followers = new Set<ServerId>()
  /** When the deserters became too many for a quorum. */
  private sinceMs: number | undefined
  private readonly waitMs: number
  private readonly isGone: (server: ServerId) => boolean

  /** `waitMs`: how long the elected server waits. */
  constructor(waitMs: number, isGone: (server: ServerId) => boolean) {
    this.waitMs = waitMs
    this.isGone = isGone
  }

  isLasting(nowMs: number): boolean {
    return this.sinceMs !== undefined && nowMs - this.sinceMs >= this.waitMs
  }

  /** A looking voter wants another leader. */
  deserted(server: ServerId): void {
    this.deserters.add(server)
    this.followers.delete(server)
  }

  /** A looking voter wants this server. */
  returned(server: ServerId): void {
    this.deserters.delete(server)
  }

  /** A server follows this one now, no matter how it voted before. */
  joined(server: ServerId): void {
    this.deserters.delete(server)
    this.followers.add(server)
  }

  /** Checks whether the voters that have not deserted are a quorum. */
  count(quorum: QuorumVerifier, nowMs: number): void {
    const { deserters, followers, isGone } = this
    const faithful = [...quorum.voters].filter(
      (server) => followers.has(server) || !(deserters.has(server) || isGone(server)),
    )
    if (quorum.isQuorum(new Set(faithful))) this.sinceMs = undefined
    else this.sinceMs ??= nowMs
  }

  clear(): void {
    this.deserters.clear()
    this.followers.clear()
    this.sinceMs = undefined
  }
}
