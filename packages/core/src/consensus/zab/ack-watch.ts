/** A proposal, and when it was sent. */
interface Sent {
  readonly zxid: bigint
  readonly atMs: number
}

/**
 * How long a learner has owed an acknowledgement.
 *
 * Two proposals are remembered: the oldest, and the newest, which takes its place. So under load the
 * age is that of one that was sent later than the oldest still owed, never of an earlier one: a
 * learner is not taken for slower than it is.
 */
export class AckWatch {
  private oldest: Sent | undefined
  private newest: Sent | undefined

  sent(zxid: bigint, atMs: number): void {
    if (this.oldest === undefined) this.oldest = { zxid, atMs }
    else this.newest = { zxid, atMs }
  }

  /** Acknowledgements come in order: everything before is acknowledged as well. */
  acknowledged(zxid: bigint): void {
    if (this.oldest === undefined || zxid < this.oldest.zxid) return
    this.oldest = this.newest !== undefined && this.newest.zxid > zxid ? this.newest : undefined
    this.newest = undefined
  }

  /** 0 if nothing is owed. */
  owedForMs(nowMs: number): number {
    return this.oldest === undefined ? 0 : nowMs - this.oldest.atMs
  }
}
