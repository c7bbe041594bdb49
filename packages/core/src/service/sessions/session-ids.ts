import { containerOwner } from '@zabra/protocol'

const counterBits = 16n

/** The server that gave out a session id: its top byte. */
export function serverIdOf(sessionId: bigint): number {
  return Number(BigInt.asUintN(64, sessionId) >> 56n)
}

/**
 * Hands out session ids: server id, then 40 bits of a clock, then a counter. Each start counts in
 * a range of its own, so no id comes again, not even that of a session long gone, whose client
 * would take the new one for its own.
 */
export class SessionIds {
  private nextId: bigint
  /** In use, and in the range of a start with a later clock: it has been set back since. */
  private readonly taken = new Set<bigint>()

  constructor(serverId: number, wallMs: number) {
    const clock = BigInt.asUintN(40, BigInt(Math.floor(wallMs)))
    this.nextId = BigInt.asIntN(64, (BigInt(serverId & 0xff) << 56n) | (clock << counterBits))
  }

  /** Passes over an id that is known to be in use, if it is one of this server's. */
  skip(id: bigint): void {
    const isOurs = BigInt.asUintN(64, id) >> 56n === BigInt.asUintN(64, this.nextId) >> 56n
    if (!isOurs || id < this.nextId) return
    if (id >> counterBits === this.nextId >> counterBits) this.nextId = id + 1n
    else this.taken.add(id)
  }

  next(): bigint {
    while (this.nextId === containerOwner || this.taken.has(this.nextId)) this.nextId++
    return this.nextId++
  }
}
