import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** Descriptors that clients do not get. */
const keptFromClients = 64

/**
 * Reserves file descriptors for what must not fail without one: the next log, snapshots, other
 * servers. A new descriptor is always the lowest free number, so the number of a new connection
 * tells how many are in use, without counting.
 */
export class Descriptors {
  /** Connections get descriptors below this one. */
  readonly forConnections: number

  /** At most a quarter of all descriptors is reserved. */
  constructor(kept = keptFromClients, limit: number = descriptorLimit()) {
    this.forConnections = limit - Math.min(kept, Math.floor(limit / 4))
  }

  hasRoomFor(socket: Socket): boolean {
    const { _handle: handle } = socket as unknown as { _handle?: { fd?: number } | null }
    return (handle?.fd ?? -1) < this.forConnections
  }
}

/** The limit of open files of this process; Infinity if the system does not say. */
function descriptorLimit(): number {
  try {
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? Infinity : Number(limit)
  } catch {
    return Infinity
  }
}
