import type { Socket } from 'node:net'
import type { ClientConnection, ClientLink } from '@zabra/core'
import type { Id } from '@zabra/protocol'
import type { ClientListener } from './client-listener.ts'
import { backlogBytesMin, type Backlogged } from './output-budget.ts'

/** With more bytes than this waiting to be sent, the server stops reading from the client. */
const unsentBytesHigh = 1024 * 1024
/** A buffer that grew beyond this is not kept for the next turn. */
const keptBytesMax = 64 * 1024
const wordBytes = 4
/** Less than any letter: the largest first byte of the length of a handshake. */
const firstOfLength = 0
const noBytes = new Uint8Array(0)

/** One accepted socket: bytes in, one write per turn out. */
export class ClientSocket implements ClientLink, Backlogged {
  readonly address: string
  readonly port: number
  readonly connection: ClientConnection
  /** Whether it uses TLS. */
  readonly isSecure: boolean
  /** Whether it has presented a certificate. */
  readonly hasCertificate: boolean
  private readonly socket: Socket
  private readonly listener: ClientListener
  private isDirty = false
  private isClosing = false
  private isBroken = false
  private isBackedUp = false
  private isPaused = false
  /** The unread bytes that the output budget counts for it. */
  private countedBytes = 0
  /** The first bytes, until it is known whether they are a four-letter word. */
  private firstBytes: Uint8Array | undefined = noBytes
  private wordInput: ((bytes: Uint8Array) => void) | undefined

  /** `proven` are the identities of its certificate; undefined without TLS. */
  constructor(
    socket: Socket,
    address: string,
    listener: ClientListener,
    proven: readonly Id[] | undefined,
  ) {
    this.socket = socket
    this.address = address
    this.port = socket.remotePort ?? 0
    this.listener = listener
    this.connection = listener.peer.open(this)
    this.isSecure = proven !== undefined
    this.hasCertificate = proven !== undefined && proven.length > 0
    if (proven !== undefined) this.connection.identities.push(...proven)
    socket.on('error', () => {
      this.isBroken = true
      socket.destroy()
    })
    socket.on('end', () => this.ended())
    socket.on('close', () => this.gone())
    socket.on('drain', () => this.drained())
  }

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  get isReading(): boolean {
    return !this.isPaused && !this.isBackedUp
  }

  /** Pending operations, in the numbers of a Java selector: 1 to read, 4 to write. */
  get interestOps(): number {
    const reads = this.isReading && this.wordInput === undefined ? 1 : 0
    return reads | (this.socket.writableLength > 0 ? 4 : 0)
  }

  receive(bytes: Uint8Array, length: number): void {
    if (this.isClosing) return
    const { listener } = this
    listener.turn.begin()
    if (this.firstBytes !== undefined) this.receiveFirst(bytes.subarray(0, length))
    else if (this.wordInput !== undefined) this.wordInput(bytes.subarray(0, length))
    else listener.peer.receive(this.connection, bytes, length)
    // Answers to reads leave at once: further events of this turn concern other sockets.
    if (this.isDirty) this.flush()
    if (listener.peer.hasBatch) listener.turn.schedule()
  }

  /** Four letters instead of a length are a command, but only as the very first bytes. */
  private receiveFirst(bytes: Uint8Array): void {
    const all = this.firstBytes!.length === 0 ? bytes : Buffer.concat([this.firstBytes!, bytes])
    if (all.length < wordBytes) {
      this.firstBytes = new Uint8Array(all)
      return
    }
    this.firstBytes = undefined
    const { listener } = this
    const word =
      all[0] === firstOfLength ? '' : Buffer.from(all.subarray(0, wordBytes)).toString('latin1')
    if (word !== '' && listener.words.isKnown(word)) {
      listener.peer.stats.packetsReceived++
      listener.peer.stats.bytesReceived += wordBytes
      this.connection.packetsReceived++
      this.wordInput = listener.words.start(word, (reply) => this.answerWord(reply))
      this.wordInput(new Uint8Array(all.subarray(wordBytes)))
    } else {
      listener.peer.receive(this.connection, all, all.length)
    }
  }

  private answerWord(reply: string): void {
    this.listener.peer.stats.packetsSent++
    this.connection.packetsSent++
    this.isClosing = true
    this.socket.end(reply)
  }

  // --- called by the core ----------------------------------------------------------------------

  flushSoon(): void {
    if (this.isDirty) return
    this.isDirty = true
    this.listener.turn.flushLater(this)
  }

  flushNow(): void {
    const { out } = this.connection
    if (!this.socket.destroyed && !this.isStuck()) this.send()
    else out.release()
    this.flushSoon()
  }

  close(): void {
    this.isClosing = true
    this.flushSoon()
  }

  pause(): void {
    this.isPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.isPaused || this.listener.isStopping) return
    this.isPaused = false
    if (!this.isBackedUp) this.socket.resume()
  }

  // --- called by the turn ----------------------------------------------------------------------

  flush(): void {
    this.isDirty = false
    const { socket, connection } = this
    const { out } = connection
    if (socket.destroyed) {
      out.release()
      return
    }
    if (out.position > 0) {
      if (this.isStuck()) return
      this.send()
      if (connection.isThrottled) this.listener.peer.drained(connection)
    }
    if (this.isClosing) {
      socket.end()
      // Further input is discarded, but must be read to notice that the client ends the connection.
      socket.resume()
      this.listener.endLater(this)
    }
  }

  private send(): void {
    const { socket, connection } = this
    const { out } = connection
    socket.write(out.written())
    // The kernel has taken everything at once, as nearly always, so the buffer can be reused.
    if (socket.writableLength > 0 || out.bytes.length > keptBytesMax) out.adopt(noBytes)
    out.release()
    if (socket.writableLength > unsentBytesHigh) this.backUp()
    this.countUnread()
  }

  /** Whether so much waits to be sent that the connection ends. */
  private isStuck(): boolean {
    const { writableLength } = this.socket
    if (writableLength <= this.listener.unreadBytesMax) return false
    this.listener.dropped(this, 'unread_bytes', `${writableLength} bytes wait to be sent to it`)
    this.socket.destroy()
    return true
  }

  destroy(): void {
    this.socket.destroy()
  }

  get sentBytes(): number {
    const { _handle: handle } = this.socket as unknown as { _handle?: Partial<StreamHandle> | null }
    const { bytesWritten, writeQueueSize } = handle ?? {}
    return bytesWritten === undefined || writeQueueSize === undefined
      ? this.socket.bytesWritten - this.socket.writableLength
      : bytesWritten - writeQueueSize
  }

  shed(reason: string): void {
    this.countedBytes = 0
    this.listener.dropped(this, 'unread_bytes_total', reason)
    this.socket.destroy()
  }

  private countUnread(): void {
    const { writableLength } = this.socket
    const bytes = writableLength > backlogBytesMin ? writableLength : 0
    if (bytes === this.countedBytes) return
    this.countedBytes = bytes
    this.listener.output.set(this, bytes)
  }

  private backUp(): void {
    if (!this.isBackedUp) this.listener.peer.stats.limitsReached.unread_replies++
    this.isBackedUp = true
    this.socket.pause()
  }

  private drained(): void {
    this.countUnread()
    if (this.isBackedUp) {
      this.isBackedUp = false
      if (!this.isPaused) this.socket.resume()
    }
    const { listener, connection } = this
    if (connection.isThrottled) listener.turn.run(() => listener.peer.drained(connection))
  }

  /** The client sends nothing more. Its earlier requests are still answered. */
  private ended(): void {
    if (this.wordInput !== undefined || this.isClosing) return
    this.listener.peer.closed(this.connection, 'client')
    this.isClosing = true
    this.flush()
  }

  private gone(): void {
    const end = this.isBroken || !this.isClosing ? 'broken' : undefined
    this.isClosing = true
    this.listener.peer.closed(this.connection, end)
    if (this.countedBytes > 0) this.listener.output.set(this, 0)
    this.listener.forget(this)
  }
}

/** Node's internals of a socket: bytes handed to the system, and bytes still waiting. */
interface StreamHandle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
}
