import { connect, createServer, type Server, type Socket } from 'node:net'

/** Stands between a client and a server, and can be cruel to what passes. */
export class Proxy {
  private readonly listener: Server
  private readonly sockets = new Set<Socket>()
  private readonly targetPort: number
  private isRefusing = false
  private isMuted = false

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.listener = createServer((socket) => this.accept(socket))
  }

  static async start(targetPort: number): Promise<Proxy> {
    const proxy = new Proxy(targetPort)
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

  /** Cuts all connections, and new ones until `heal`. */
  cut(): void {
    this.isRefusing = true
    this.drop()
  }

  /** Cuts the connections there are. */
  drop(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  /** What the server says is lost from now on; what the client says still arrives. */
  mute(): void {
    this.isMuted = true
  }

  heal(): void {
    this.isRefusing = this.isMuted = false
  }

  async stop(): Promise<void> {
    this.drop()
    await new Promise((resolve) => this.listener.close(resolve))
  }

  private accept(socket: Socket): void {
    if (this.isRefusing) {
      socket.destroy()
      return
    }
    const target = connect(this.targetPort, '127.0.0.1')
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.sockets.add(from)
      from.on('data', (bytes) => {
        if (from === socket || !this.isMuted) to.write(bytes)
      })
      from.on('error', () => {})
      from.on('close', () => {
        this.sockets.delete(from)
        to.destroy()
      })
    }
  }
}
