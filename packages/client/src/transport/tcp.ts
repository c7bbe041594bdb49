import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { connect, type OnReadOpts, type Socket } from 'node:net'
import type { ServerAddress, Stream, StreamEvents } from '../host.ts'
import { AnswerPoll } from './answer-poll.ts'

const receivedBytes = 64 * 1024
/** Shared by all sockets: received bytes are handled before the next read. */
const shared = new Uint8Array(receivedBytes)

export interface SocketOptions {
  readonly random: () => number
  readonly unref: boolean
  readonly answerPollMicros: number
}

/** A TCP connection. A name may have several addresses: all are tried, in random order. */
export function openTcp(
  server: ServerAddress,
  events: StreamEvents,
  options: SocketOptions,
): Stream {
  const stream = new SocketStream(events, options)
  const onread: OnReadOpts = {
    buffer: shared,
    callback(length, buffer) {
      stream.received(buffer, length)
      return true
    },
  }
  const { host, port } = server
  const lookup = shuffledLookup(options.random)
  const socket = connect({ host, port, noDelay: true, lookup, onread })
  if (options.unref) socket.unref()
  stream.attach(socket, 'connect')
  return stream
}

/** A socket of Node as a Stream. */
export class SocketStream implements Stream {
  private readonly events: StreamEvents
  private readonly answers: AnswerPoll
  private socket: Socket | undefined
  private error: Error | undefined
  private isClosed = false

  constructor(events: StreamEvents, { answerPollMicros }: SocketOptions) {
    this.events = events
    this.answers = new AnswerPoll(answerPollMicros)
  }

  attach(socket: Socket, openEvent: 'connect' | 'secureConnect'): void {
    this.socket = socket
    socket.once(openEvent, () => this.isClosed || this.events.opened())
    socket.on('error', (error) => {
      this.error = error
      socket.destroy()
    })
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.isClosed || this.events.closed(this.error))
    socket.on('drain', () => this.isClosed || this.events.drained())
  }

  /** The socket could not be created. */
  failed(error: Error): void {
    if (!this.isClosed) this.events.closed(error)
  }

  received(bytes: Uint8Array, length: number): void {
    if (this.isClosed) return
    this.answers.answered()
    this.events.received(bytes, length)
  }

  get isFull(): boolean {
    return this.socket?.writableNeedDrain ?? false
  }

  write(bytes: Uint8Array): boolean {
    const { socket } = this
    if (socket === undefined || socket.destroyed) return true
    socket.write(bytes)
    this.answers.asked()
    return socket.writableLength === 0
  }

  close(): void {
    this.isClosed = true
    // Not `end`: pending bytes are in the kernel already, and nobody listens any more.
    this.socket?.destroy()
  }
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void

/** Resolves a name to all its addresses, in random order. */
export function shuffledLookup(random: () => number) {
  return (name: string, options: LookupOptions, callback: LookupCallback): void => {
    dnsLookup(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const order = addresses.map((address) => ({ address, key: random() }))
      const shuffled = order.toSorted((a, b) => a.key - b.key).map(({ address }) => address)
      const [first] = shuffled
      if (options.all === true || first === undefined) callback(null, shuffled)
      else callback(null, first.address, first.family)
    })
  }
}
