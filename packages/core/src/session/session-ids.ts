import { containerOwner } from '@zabra/protocol'

/**
 * Hands out session ids: server id, then 40 bits of a clock, then a counter. Never one that was
 * handed out before, even if the clock of this start shows no later time than that of the last.
 */
export class SessionIds {
  private nextId: bigint

  constructor(serverId: number, elapsedMs: number) {
    const clock = BigInt.asUintN(40, BigInt(Math.floor(elapsedMs)))
    this.nextId = BigInt.asIntN(64, (BigInt(serverId & 0xff) << 56n) | (clock << 16n))
  }

  /** Starts after an id that is known to be in use, if it is one of this server's. */
  skip(id: bigint): void {
    const isOurs = BigInt.asUintN(64, id) >> 56n === BigInt.asUintN(64, this.nextId) >> 56n
    if (isOurs && id >= this.nextId) this.nextId = id + 1n
  }

  next(): bigint {
    if (this.nextId === containerOwner) this.nextId++
    return this.nextId++
  }
}
