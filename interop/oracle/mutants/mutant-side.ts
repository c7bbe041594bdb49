import { connect, createServer, type Server, type Socket } from 'node:net'
import { loopback } from '../../src/servers.ts'
import type { Address } from '../play/connection.ts'
import type { Side } from '../side.ts'
import { opname, type Opname } from '../wire/opcodes.ts'
import { frame as framed } from '../wire/raw-writer.ts'
import type { Fault } from './faults.ts'

/** A side behind a proxy that injects one fault into the traffic. */
export class MutantSide implements Side {
  readonly name: string
  readonly canRestart = true
  readonly #inner: Side
  readonly #fault: Fault
  #proxy: Server | undefined
  #address: Address | undefined

  constructor(name: string, inner: Side, fault: Fault) {
    this.name = name
    this.#inner = inner
    this.#fault = fault
  }

  get addresses(): readonly Address[] {
    return this.#address === undefined ? [] : [this.#address]
  }

  serving(): Promise<boolean> {
    return this.#inner.serving()
  }

  async startFresh(): Promise<void> {
    await this.#inner.startFresh()
    if (this.#proxy !== undefined) return
    const proxy = createServer((client) => this.#relay(client))
    this.#proxy = proxy
    await new Promise<void>((resolve) => proxy.listen(0, loopback, () => resolve()))
    const address = proxy.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
    this.#address = { host: loopback, port: address.port }
  }

  restart(hard: boolean): Promise<void> {
    return this.#inner.restart(hard)
  }

  async dispose(): Promise<void> {
    this.#proxy?.close()
    this.#proxy = undefined
    await this.#inner.dispose()
  }

  logs(): string {
    return this.#inner.logs()
  }

  #relay(client: Socket): void {
    const [address] = this.#inner.addresses
    if (address === undefined) {
      client.destroy()
      return
    }
    const server = connect({ ...address, noDelay: true })
    client.setNoDelay(true)
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      from.on('error', () => {})
      from.on('end', () => to.end())
      from.on('close', () => to.destroy())
    }
    const traffic = new Traffic(this.#fault, client, server)
    client.on('data', (chunk) => traffic.fromClient(chunk))
    server.on('data', (chunk) => traffic.fromServer(chunk))
  }
}

/** One connection's frames in both directions. */
class Traffic {
  readonly #fault: Fault
  readonly #client: Socket
  readonly #server: Socket
  readonly #requests = new Frames()
  readonly #replies = new Frames()
  readonly #awaited: (Opname | undefined)[] = []
  #delayed: Buffer[] = []
  #events = 0
  #isConnectRequest = true
  #isConnectResponse = true

  constructor(fault: Fault, client: Socket, server: Socket) {
    this.#fault = fault
    this.#client = client
    this.#server = server
  }

  fromClient(chunk: Buffer): void {
    const { frames, junk } = this.#requests.push(chunk)
    for (const frame of frames) this.#server.write(framed(this.#request(frame)))
    if (junk !== undefined) this.#server.write(junk)
  }

  fromServer(chunk: Buffer): void {
    const { frames, junk } = this.#replies.push(chunk)
    for (const frame of frames) {
      for (const falsified of this.#falsify(frame)) this.#client.write(framed(falsified))
    }
    if (junk !== undefined) this.#client.write(junk)
  }

  #request(frame: Buffer): Buffer {
    if (this.#isConnectRequest) {
      this.#isConnectRequest = false
      return frame
    }
    const op = frame.length >= 8 ? opname(frame.readInt32BE(4)) : undefined
    this.#awaited.push(op)
    return frame.length > 8 ? (this.#fault.request?.(op, frame) ?? frame) : frame
  }

  #falsify(frame: Buffer): Buffer[] {
    if (this.#isConnectResponse) {
      this.#isConnectResponse = false
      return [this.#fault.connectResponse?.(frame) ?? frame]
    }
    const xid = frame.readInt32BE(0)
    if (xid === -1) {
      const ordinal = ++this.#events
      if (this.#fault.delays?.(ordinal) !== true)
        return this.#fault.event?.(frame, ordinal) ?? [frame]
      this.#delayed.push(frame)
      return []
    }
    const op = this.#awaited.shift()
    const reply = this.#fault.reply?.(op, frame, frame.readInt32BE(12), xid) ?? frame
    const delayed = this.#delayed
    this.#delayed = []
    return [reply, ...delayed]
  }
}

/** Cuts a stream into copied frames; after an impossible length the rest is passed on as it is. */
class Frames {
  #pending: Buffer = Buffer.alloc(0)
  #broken = false

  push(chunk: Buffer): { frames: Buffer[]; junk?: Buffer } {
    if (this.#broken) return { frames: [], junk: chunk }
    this.#pending = Buffer.concat([this.#pending, chunk])
    const frames: Buffer[] = []
    while (this.#pending.length >= 4) {
      const length = this.#pending.readInt32BE(0)
      if (length < 0 || length > 1 << 26) {
        this.#broken = true
        return { frames, junk: this.#pending }
      }
      if (this.#pending.length < 4 + length) break
      frames.push(Buffer.from(this.#pending.subarray(4, 4 + length)))
      this.#pending = this.#pending.subarray(4 + length)
    }
    return { frames }
  }
}
