import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** At most this many are kept back; of few, a quarter. */
const keptMax = 64

/**
 * File descriptors that connections leave to what must not fail for want of one: the next log,
 * snapshots, other servers. A descriptor is the lowest number that is free, so the number of a new
 * connection tells how many are taken, and nothing has to be counted.
 */
export class Descriptors {
  /** Connections get those below. */
  readonly forConnections: number

  constructor(limit: number = descriptorLimit()) {
    this.forConnections = limit - Math.min(keptMax, Math.floor(limit / 4))
  }

  hasRoomFor(socket: Socket): boolean {
    const { _handle: handle } = socket as unknown as { _handle?: { fd?: number } | null }
    return (handle?.fd ?? -1) < this.forConnections
  }
}

/** How many this process may have open; Infinity where the system does not say. */
function descriptorLimit(): number {
  try {
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? Infinity : Number(limit)
  } catch {
    return Infinity
  }
}
