import { connect, createServer, type Server, type Socket } from 'node:net'
import { Pipe, type Lane } from './pipe.ts'

const loopback = '127.0.0.1'
/**
 * A port that is not open yet is tried again, because the dialing side sees its connection succeed
 * at once.
 */
const dialMsMax = 400
const dialPauseMs = 20

interface Pair {
  readonly near: Socket
  readonly far: Socket
  readonly pipes: readonly Pipe[]
}

/** A TCP link that can be cut, held in either direction, slowed down and reset. */
export class LinkProxy {
  /** The port that the link leads to; 0 if there is none. */
  targetPort: number
  private readonly server: Server
  private readonly pairs = new Set<Pair>()
  /** Connections to the target that nobody uses any more, without its knowledge. */
  private readonly stranded = new Set<Socket>()
  private readonly up: Lane = { isHeld: false, delayMs: 0 }
  private readonly down: Lane = { isHeld: false, delayMs: 0 }
  private isCut = false
  private isClosed = false

  static async open(targetPort: number): Promise<LinkProxy> {
    const proxy = new LinkProxy(targetPort)
    await new Promise<void>((resolve) => {
      proxy.server.listen(0, loopback, resolve)
    })
    return proxy
  }

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
      near.on('error', () => near.destroy())
      void this.join(near, performance.now() + dialMsMax)
    })
  }

  get port(): number {
    const address = this.server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Closes every connection and refuses new ones. */
  cut(): void {
    this.isCut = true
    this.reset()
  }

  /** Closes every connection, as a restarted router does. */
  reset(): void {
    for (const { near, far } of this.pairs) {
      near.resetAndDestroy()
      far.resetAndDestroy()
    }
    for (const far of this.stranded) far.resetAndDestroy()
  }

  /**
   * Closes every connection for the side that dialed. The other side hears nothing more, as if the
   * first one's machine had vanished; its connections are closed when the link is healed or reset.
   */
  strand(): void {
    this.hold('up')
    this.hold('down')
    for (const { near, far } of this.pairs) {
      this.stranded.add(far)
      far.once('close', () => this.stranded.delete(far))
      near.resetAndDestroy()
    }
  }

  /** Holds back the bytes of one direction; they arrive when the link is healed. */
  hold(direction: 'up' | 'down'): void {
    this[direction].isHeld = true
    this.changed()
  }

  slow(delayMs: number): void {
    this.up.delayMs = this.down.delayMs = delayMs
  }

  heal(): void {
    this.isCut = false
    for (const far of this.stranded) far.resetAndDestroy()
    for (const lane of [this.up, this.down]) {
      lane.isHeld = false
      lane.delayMs = 0
    }
    this.changed()
  }

  close(): void {
    this.isClosed = true
    this.server.close()
    this.reset()
  }

  private changed(): void {
    for (const { pipes } of this.pairs) for (const pipe of pipes) pipe.changed()
  }

  private async join(near: Socket, untilMs: number): Promise<void> {
    const far = await this.dial(untilMs)
    if (far === undefined || near.destroyed || this.isCut) {
      near.destroy()
      far?.destroy()
      return
    }
    const pipes = [new Pipe(near, far, this.up), new Pipe(far, near, this.down)]
    const pair = { near, far, pipes }
    this.pairs.add(pair)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on('error', () => other.resetAndDestroy())
      socket.on('close', (hadError) => {
        this.pairs.delete(pair)
        // Bytes that it sent before it ended are still in transit.
        if (hadError || this.isCut) other.destroy()
      })
    }
  }

  private async dial(untilMs: number): Promise<Socket | undefined> {
    while (!this.isCut && !this.isClosed) {
      const socket = await this.tryDial()
      if (socket !== undefined) return socket
      if (performance.now() > untilMs) return undefined
      await new Promise((resolve) => {
        setTimeout(resolve, dialPauseMs)
      })
    }
    return undefined
  }

  private tryDial(): Promise<Socket | undefined> {
    const { targetPort: port } = this
    if (port === 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const socket = connect({ port, host: loopback, allowHalfOpen: true, noDelay: true })
      socket.once('connect', () => resolve(socket))
      socket.on('error', () => {
        socket.destroy()
        resolve(undefined)
      })
    })
  }
}
