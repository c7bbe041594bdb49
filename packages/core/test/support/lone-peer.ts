/** A server on its own without sockets or files, and clients that send it frames. */
import {
  ConnectRequest,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  Writer,
  type Id,
  type OperationName,
  type RequestOf,
} from '@zabra/protocol'
import { Peer } from '../../src/peer/peer.ts'
import type { PeerOptions, PeerPorts } from '../../src/peer/peer-base.ts'
import type { ClientConnection, ClientLink } from '../../src/service/connection.ts'
import type { TraceEvent } from '../../src/service/trace.ts'
import { Database } from '../../src/state/database.ts'

export const openAcl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

export class LonePeer {
  readonly peer: Peer
  readonly events: TraceEvent[] = []
  nowMs = 0

  constructor(options: Partial<PeerOptions> = {}, ports: Partial<PeerPorts> = {}) {
    const schemes = new Set(['ip', 'digest', 'super'])
    const acl = { skipAcl: false, schemes }
    const db = new Database({ extendedTypes: true, digests: true, hashSeed: 1, acl })
    db.createSystemNodes()
    const authenticate = (scheme: string, token: Uint8Array | null): Id[] => [
      { scheme, id: Buffer.from(token ?? []).toString() },
    ]
    this.peer = new Peer(
      db,
      {
        serverId: 1,
        tickMs: 1000,
        sessionTimeoutMsMin: 1000,
        sessionTimeoutMsMax: 20_000,
        outstandingMax: 1000,
        frameBytesMax: 1_048_575,
        sessionlessTimeoutMs: 5000,
        requiredSchemes: [],
        rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
        reclaim: { checkIntervalMs: 60_000, perMinuteMax: 1, neverUsedMsMax: 0 },
        ...options,
      },
      {
        authenticator: { schemes, authenticate },
        trace: (event) => this.events.push(event),
        ...ports,
      },
      { nowMs: 0, wallMs: 1_700_000_000_000 },
    )
  }

  get db(): Database {
    return this.peer.db
  }

  /** Everything that is to be logged is durable. */
  commit(): void {
    this.peer.setTime(this.nowMs, 1_700_000_000_000 + this.nowMs)
    while (this.peer.hasBatch) this.peer.logged(this.peer.batches.take())
  }

  passTime(ms: number): void {
    this.nowMs += ms
    this.peer.setTime(this.nowMs, 1_700_000_000_000 + this.nowMs)
    this.peer.tick()
    this.commit()
  }

  connect(address = '127.0.0.1', timeOut = 4000): LoneClient {
    const client = new LoneClient(this, address)
    client.greet({ timeOut, sessionId: 0n, passwd: new Uint8Array(16) })
    return client
  }
}

export class LoneClient implements ClientLink {
  readonly address: string
  readonly connection: ClientConnection
  unsentBytes = 0
  isPaused = false
  isClosed = false
  private readonly server: LonePeer
  private nextXid = 1

  constructor(server: LonePeer, address: string) {
    this.server = server
    this.address = address
    this.connection = server.peer.open(this)
  }

  flushSoon(): void {}

  flushNow(): void {}

  close(): void {
    this.isClosed = true
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  greet(request: { timeOut: number; sessionId: bigint; passwd: Uint8Array }): void {
    const greeting = { protocolVersion: 0, lastZxidSeen: 0n, readOnly: false, ...request }
    this.sendBytes(frame((writer) => ConnectRequest.write(writer, greeting)))
    this.server.commit()
    this.connection.out.reset()
  }

  sendBytes(...frames: Uint8Array[]): void {
    const bytes = Buffer.concat(frames)
    this.server.peer.receive(this.connection, bytes, bytes.length)
  }

  encode<Name extends OperationName>(name: Name, request: RequestOf<Name>): Uint8Array {
    const { code, request: codec } = operations[name]
    return frame((writer) => {
      RequestHeader.write(writer, { xid: this.nextXid++, type: code })
      ;(codec as { write(to: Writer, value: unknown): void }).write(writer, request)
    })
  }

  send<Name extends OperationName>(name: Name, request: RequestOf<Name>): void {
    this.sendBytes(this.encode(name, request))
  }

  /** Sends a request, makes what it writes durable, and gives the error of the last reply. */
  call<Name extends OperationName>(name: Name, request: RequestOf<Name>): number {
    this.send(name, request)
    this.server.commit()
    return this.take().at(-1)?.err ?? NaN
  }

  create(path: string, data: Uint8Array | null = null, flags = 0): number {
    return this.call('create', { path, data, acl: openAcl, flags })
  }

  /** The client takes what it was sent: the replies, and notifications as those of xid -1. */
  take(): { xid: number; err: number; body: Reader }[] {
    const { out } = this.connection
    const bytes = new Uint8Array(out.written())
    out.reset()
    this.unsentBytes = 0
    const replies: { xid: number; err: number; body: Reader }[] = []
    const reader = new Reader(bytes)
    while (reader.remaining > 0) {
      const end = reader.int() + reader.position
      const { xid, err } = ReplyHeader.read(reader)
      replies.push({ xid, err, body: new Reader(bytes, reader.position, end) })
      reader.position = end
    }
    if (this.connection.isThrottled) this.server.peer.drained(this.connection)
    return replies
  }
}

function frame(write: (writer: Writer) => void): Uint8Array {
  const writer = new Writer()
  writer.int(0)
  write(writer)
  writer.intAt(0, writer.position - 4)
  return new Uint8Array(writer.written())
}
