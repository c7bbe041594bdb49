/** A hostile client: it sends frames as fast as the server accepts them, and may stop reading. */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import {
  ConnectRequest,
  ConnectResponse,
  FrameCutter,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  Writer,
  type OperationName,
  type RequestOf,
} from '@zabra/protocol'

const loopback = '127.0.0.1'
const frameBytesMax = 512 * 1024 * 1024

export class Attacker {
  sessionId = 0n
  /** The number of replies received, without notifications. */
  replies = 0
  notifications = 0
  lastError = 0
  isClosed = false
  readonly socket: Socket
  private readonly cutter = new FrameCutter(frameBytesMax)
  private readonly writer = new Writer()
  private onFrame: (() => void) | undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.onFrame?.()
    })
    socket.on('data', (chunk) => {
      this.cutter.push(chunk, chunk.length, { frame: (...frame) => this.frame(...frame) })
    })
  }

  /** Opens a connection and sends nothing. */
  static async silent(port: number): Promise<Attacker> {
    const attacker = new Attacker(connect({ port, host: loopback }))
    await Promise.race([once(attacker.socket, 'connect'), once(attacker.socket, 'close')]).catch(
      () => {},
    )
    return attacker
  }

  static async open(port: number, timeOut = 30_000): Promise<Attacker> {
    const attacker = await Attacker.silent(port)
    await attacker.greet({ timeOut, sessionId: 0n, passwd: new Uint8Array(16) })
    return attacker
  }

  /** Resolves when the handshake is answered, or the connection is closed. */
  async greet(request: { timeOut: number; sessionId: bigint; passwd: Uint8Array }): Promise<void> {
    this.send((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen: 0n,
        readOnly: false,
        ...request,
      }),
    )
    await this.next()
  }

  /** Waits until this many replies have arrived, or the connection is closed. */
  async until(replies: number): Promise<void> {
    while (this.replies < replies && !this.isClosed) await this.next()
  }

  encode<Name extends OperationName>(
    xid: number,
    name: Name,
    request: RequestOf<Name>,
  ): Uint8Array {
    const { code, request: codec } = operations[name]
    const { writer } = this
    writer.reset()
    writer.int(0)
    RequestHeader.write(writer, { xid, type: code })
    ;(codec as { write(to: Writer, value: unknown): void }).write(writer, request)
    writer.intAt(0, writer.position - 4)
    return new Uint8Array(writer.written())
  }

  /**
   * Sends one request many times; resolves when the system has accepted all of it, or never will.
   */
  async repeat<Name extends OperationName>(
    times: number,
    name: Name,
    request: (i: number) => RequestOf<Name>,
  ): Promise<void> {
    let batch: Uint8Array[] = []
    let bytes = 0
    for (let i = 0; i < times && !this.isClosed; i++) {
      const frame = this.encode(i + 1, name, request(i))
      batch.push(frame)
      bytes += frame.length
      if (bytes < 1024 * 1024 && i < times - 1) continue
      await this.write(Buffer.concat(batch))
      batch = []
      bytes = 0
    }
  }

  async call<Name extends OperationName>(name: Name, request: RequestOf<Name>): Promise<number> {
    const before = this.replies
    await this.write(this.encode(1, name, request))
    await this.until(before + 1)
    return this.isClosed ? -4 : this.lastError
  }

  /** Resolves when there is room for more, or the connection is closed. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.isClosed || this.socket.write(bytes)) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.socket.off('drain', done)
        this.socket.off('close', done)
        resolve()
      }
      this.socket.on('drain', done)
      this.socket.on('close', done)
    })
  }

  /** Stops reading. */
  deafen(): void {
    this.socket.pause()
  }

  destroy(): void {
    this.socket.destroy()
  }

  private send(write: (writer: Writer) => void): void {
    const { writer } = this
    writer.reset()
    writer.int(0)
    write(writer)
    writer.intAt(0, writer.position - 4)
    this.socket.write(new Uint8Array(writer.written()))
  }

  private next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isClosed) resolve()
      else this.onFrame = resolve
    })
  }

  private frame(bytes: Uint8Array, start: number, end: number): boolean {
    const reader = new Reader(bytes, start, end)
    if (this.sessionId === 0n) {
      this.sessionId = ConnectResponse.read(reader).sessionId
    } else {
      const { xid, err } = ReplyHeader.read(reader)
      if (xid === -1) this.notifications++
      else {
        this.replies++
        this.lastError = err
      }
    }
    const { onFrame } = this
    this.onFrame = undefined
    onFrame?.()
    return true
  }
}
