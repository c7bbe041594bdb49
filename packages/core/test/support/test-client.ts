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
import type { EnsemblePeer } from '../../src/peer/ensemble-peer.ts'
import type { ClientConnection, ClientLink } from '../../src/service/connection.ts'
import type { TestEnsemble } from './ensemble.ts'

const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

export interface TestClientOptions {
  readonly session?: { readonly sessionId: bigint; readonly password: Uint8Array }
  readonly lastZxidSeen?: bigint
  readonly timeOut?: number
  readonly readOnly?: boolean
  readonly limitMs?: number
}

/** A client of one server: replies come as `xid:error`, in the order in which they arrive. */
export class TestClient {
  sessionId = 0n
  password: Uint8Array = new Uint8Array(16)
  /** Undefined until the handshake is answered; 0 where the session is refused. */
  timeoutMs: number | undefined
  isReadOnly: boolean | undefined
  isClosed = false
  readonly replies: { xid: number; zxid: bigint; err: number; body: Uint8Array }[] = []
  private readonly world: TestEnsemble
  private readonly peer: EnsemblePeer
  private connection!: ClientConnection
  private xid = 0

  private constructor(world: TestEnsemble, peer: EnsemblePeer) {
    this.world = world
    this.peer = peer
  }

  static async connect(
    world: TestEnsemble,
    peer: EnsemblePeer,
    options: TestClientOptions = {},
  ): Promise<TestClient> {
    const client = TestClient.open(world, peer, options)
    const isOver = (): boolean => client.timeoutMs !== undefined || client.isClosed
    await world.until('the handshake is answered', isOver, options.limitMs)
    return client
  }

  /** As `connect`, but the handshake is not waited for. */
  static open(
    world: TestEnsemble,
    peer: EnsemblePeer,
    options: TestClientOptions = {},
  ): TestClient {
    const client = new TestClient(world, peer)
    const cutter = new FrameCutter(1024 * 1024)
    let isDirty = false
    const link: ClientLink = {
      address: '127.0.0.1',
      unsentBytes: 0,
      flushNow: () => link.flushSoon(),
      pause() {},
      resume() {},
      flushSoon() {
        if (isDirty) return
        isDirty = true
        world.post(() => {
          isDirty = false
          const { out } = client.connection
          const bytes = new Uint8Array(out.written())
          out.reset()
          cutter.push(bytes, bytes.length, client)
        })
      },
      close() {
        world.post(() => (client.isClosed = true))
      },
    }
    client.connection = peer.open(link)
    client.send((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen: options.lastZxidSeen ?? 0n,
        timeOut: options.timeOut ?? 10_000,
        sessionId: options.session?.sessionId ?? 0n,
        passwd: options.session?.password ?? new Uint8Array(16),
        readOnly: options.readOnly ?? false,
      }),
    )
    return client
  }

  frame(bytes: Uint8Array, start: number, end: number): boolean {
    const reader = new Reader(bytes.slice(start, end))
    if (this.timeoutMs === undefined) {
      const { timeOut, sessionId, passwd, readOnly } = ConnectResponse.read(reader)
      this.timeoutMs = timeOut
      this.isReadOnly = readOnly
      this.sessionId = sessionId
      this.password = passwd ?? this.password
      return true
    }
    const { xid, zxid, err } = ReplyHeader.read(reader)
    this.replies.push({ xid, zxid, err, body: reader.bytes.subarray(reader.position) })
    return true
  }

  private send(write: (writer: Writer) => void): void {
    const writer = new Writer(256)
    writer.int(0)
    write(writer)
    writer.intAt(0, writer.position - 4)
    this.peer.setTime(this.world.nowMs, this.world.nowMs)
    this.peer.receive(this.connection, writer.written(), writer.position)
    if (this.peer.hasBatch)
      this.world.post(() => this.peer.hasBatch && this.peer.journal.batchReady())
  }

  /** Sends a request, and says by which number its reply is known. */
  ask<Name extends OperationName>(name: Name, request: RequestOf<Name>): number {
    const { code, request: codec } = operations[name]
    const xid = ++this.xid
    this.send((writer) => {
      RequestHeader.write(writer, { xid, type: code })
      ;(codec as { write(writer: Writer, value: unknown): void }).write(writer, request)
    })
    return xid
  }

  async call<Name extends OperationName>(name: Name, request: RequestOf<Name>): Promise<number> {
    const xid = this.ask(name, request)
    const find = (): { err: number } | undefined => this.replies.find((reply) => reply.xid === xid)
    await this.world.until(`${name} is answered`, () => find() !== undefined || this.isClosed)
    return find()?.err ?? -4
  }

  create(path: string, flags = 0): Promise<number> {
    return this.call('create', { path, data: null, acl: open, flags })
  }

  askCreate(path: string, flags = 0, data: Uint8Array | null = null): number {
    return this.ask('create', { path, data, acl: open, flags })
  }

  /** 0 where there is such a node. */
  exists(path: string): Promise<number> {
    return this.call('exists', { path, watch: false })
  }

  /** Signs of life, as long as the client is connected. */
  ping(): void {
    if (this.isClosed) return
    this.send((writer) => RequestHeader.write(writer, { xid: -2, type: 11 }))
  }

  close(): void {
    this.peer.closed(this.connection)
    this.isClosed = true
  }
}
