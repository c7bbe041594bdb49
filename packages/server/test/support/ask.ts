/** For tests: a socket that sends bytes, and a minimal client. */
import { connect, type Socket } from 'node:net'
import { Writer } from '@zabra/protocol'

/** Sends a four-letter word, as `nc` would, and reads until the server closes. */
export function ask(port: number, word: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: '127.0.0.1', port }, () => socket.end(word))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

export const operation = { create: 1, getData: 4, setData: 5, getChildren: 8 } as const
export const ephemeral = 1

/** One session; requests are sent one at a time, and each returns its error code. */
export class TestSession {
  sessionId = 0n
  private readonly socket: Socket
  private received = Buffer.alloc(0)
  private waiting: ((frame: Buffer) => void) | undefined
  private xid = 0

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.receive(chunk))
  }

  static async open(port: number, timeoutMs = 30_000): Promise<TestSession> {
    const socket = connect({ host: '127.0.0.1', port })
    const session = new TestSession(socket)
    const greeting = await session.exchange((writer) => {
      writer.int(0)
      writer.long(0n)
      writer.int(timeoutMs)
      writer.long(0n)
      writer.buffer(new Uint8Array(16))
    })
    session.sessionId = greeting.readBigInt64BE(8)
    return session
  }

  create(path: string, data = '', flags = 0): Promise<number> {
    return this.call(operation.create, (writer) => {
      writer.ustring(path)
      writer.buffer(Buffer.from(data))
      writer.int(1)
      writer.int(31)
      writer.ustring('world')
      writer.ustring('anyone')
      writer.int(flags)
    })
  }

  setData(path: string, data: string): Promise<number> {
    return this.call(operation.setData, (writer) => {
      writer.ustring(path)
      writer.buffer(Buffer.from(data))
      writer.int(-1)
    })
  }

  /** Reads data or children and sets a watch. */
  watch(path: string, type: number = operation.getData): Promise<number> {
    return this.call(type, (writer) => {
      writer.ustring(path)
      writer.bool(true)
    })
  }

  close(): void {
    this.socket.destroy()
  }

  private async call(type: number, write: (writer: Writer) => void): Promise<number> {
    const reply = await this.exchange((writer) => {
      writer.int(++this.xid)
      writer.int(type)
      write(writer)
    })
    return reply.readInt32BE(12)
  }

  private exchange(write: (writer: Writer) => void): Promise<Buffer> {
    const writer = new Writer()
    writer.int(0)
    write(writer)
    writer.intAt(0, writer.position - 4)
    this.socket.write(writer.written())
    return new Promise((resolve) => (this.waiting = resolve))
  }

  private receive(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk])
    while (this.received.length >= 4) {
      const end = 4 + this.received.readInt32BE(0)
      if (this.received.length < end) return
      const frame = this.received.subarray(4, end)
      this.received = this.received.subarray(end)
      const isNotification = this.sessionId !== 0n && frame.readInt32BE(0) === -1
      if (!isNotification) this.waiting?.(frame)
    }
  }
}
