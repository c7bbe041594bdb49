import { connect, createServer, type Server, type Socket } from 'node:net'

/** Stands between a client and a server, and can disturb the traffic. */
export class Proxy {
  /** How many watch events the server has sent. */
  notifications = 0
  private readonly listener: Server
  private readonly sockets = new Set<Socket>()
  private readonly host: string
  private readonly targetPort: number
  private isRefusing = false
  private isMuted = false
  private isPiecemeal = false
  private forgery: readonly [from: string, to: string] | undefined

  private constructor(address: string) {
    const colon = address.lastIndexOf(':')
    this.host = address.slice(0, colon)
    this.targetPort = Number(address.slice(colon + 1))
    this.listener = createServer((socket) => this.accept(socket))
  }

  /** Before a server at this port, or at `host:port`. */
  static async start(server: number | string): Promise<Proxy> {
    const proxy = new Proxy(typeof server === 'number' ? `127.0.0.1:${server}` : server)
    await new Promise<void>((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.listener.address() as { port: number }).port
  }

  get connectString(): string {
    return `127.0.0.1:${this.port}`
  }

  get connections(): number {
    return this.sockets.size / 2
  }

  /** Cuts all connections, and refuses new ones until `heal`. */
  cut(): void {
    this.isRefusing = true
    this.drop()
  }

  /** Cuts the current connections. */
  drop(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  /** Drops everything that the server sends from now on; the client's messages still arrive. */
  mute(): void {
    this.isMuted = true
  }

  /** From now on the server's messages arrive frame by frame, with a delay between them. */
  dole(): void {
    this.isPiecemeal = true
  }

  /** Replaces a word by another of the same length in the client's messages, until `heal`. */
  forge(from: string, to: string): void {
    this.forgery = [from, to]
  }

  heal(): void {
    this.isRefusing = this.isMuted = false
    this.forgery = undefined
  }

  async stop(): Promise<void> {
    this.drop()
    await new Promise((resolve) => this.listener.close(resolve))
  }

  private forged(bytes: Buffer): Buffer {
    if (this.forgery === undefined) return bytes
    const [from, to] = this.forgery
    return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1')
  }

  private accept(socket: Socket): void {
    if (this.isRefusing) {
      socket.destroy()
      return
    }
    const target = connect(this.targetPort, this.host)
    const count = frameCounter(() => this.notifications++)
    socket.on('data', (bytes) => target.write(this.forged(bytes)))
    socket.setNoDelay(true)
    let last: Promise<unknown> = Promise.resolve()
    target.on('data', (bytes) => {
      count(bytes)
      if (this.isMuted) return
      if (!this.isPiecemeal) socket.write(bytes)
      else {
        for (const frame of framesOf(bytes))
          last = last.then(() => socket.write(frame)).then(someTurns)
      }
    })
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        this.sockets.delete(one)
        other.destroy()
      })
    }
  }
}

/** Whole frames, and the rest of the last one. */
function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = []
  let at = 0
  while (at < bytes.length) {
    const end = bytes.length - at < 4 ? bytes.length : at + 4 + bytes.readInt32BE(at)
    frames.push(bytes.subarray(at, end))
    at = end
  }
  return frames
}

/** Enough time for the other side to have acted on what it was sent. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Counts the frames that are no replies; the first of a connection has no header. */
function frameCounter(count: () => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let isGreeted = false
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 4) {
      const length = rest.readInt32BE(0)
      if (rest.length < 4 + length) return
      if (isGreeted && rest.readInt32BE(4) === -1) count()
      isGreeted = true
      rest = rest.subarray(4 + length)
    }
  }
}
