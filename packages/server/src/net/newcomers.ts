import type { Socket } from 'node:net'
import { plainAddress } from '../base/plain-address.ts'

/**
 * Bounds the number of connections that have not shown yet where they come from. When there are too
 * many, the oldest one is closed: others need only a moment for that.
 */
export class Newcomers {
  private readonly sockets = new Set<Socket>()
  private readonly max: number
  private readonly onTooMany: (address: string) => void

  /** `onTooMany` is called with the address of each connection that gives way. */
  constructor(max: number, onTooMany: (address: string) => void) {
    this.max = max
    this.onTooMany = onTooMany
  }

  get size(): number {
    return this.sockets.size
  }

  add(socket: Socket): void {
    const { sockets } = this
    const [oldest] = sockets
    if (oldest !== undefined && sockets.size >= this.max) {
      sockets.delete(oldest)
      this.onTooMany(plainAddress(oldest.remoteAddress))
      oldest.destroy()
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }

  /** It is not a newcomer any more. */
  delete(socket: Socket): void {
    this.sockets.delete(socket)
  }
}
