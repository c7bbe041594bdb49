/** Whole servers of an ensemble in one process: virtual time, disks that forget, no sockets. */
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
  type PacketName,
  type RequestOf,
} from '@zabra/protocol'
import type { LinkAction } from '../../src/election/links.ts'
import type { ClientConnection, ClientLink } from '../../src/pipeline/connection.ts'
import type { Host } from '../../src/ports.ts'
import { loadDatabase } from '../../src/storage/load.ts'
import { MemoryDisk } from '../../src/storage/memory-disk.ts'
import { TxnLog } from '../../src/storage/txn-log.ts'
import { CommittedLog } from '../../src/zab/committed-log.ts'
import { Epochs } from '../../src/zab/epochs.ts'
import { parseMembership } from '../../src/zab/membership.ts'
import type { ZabEvent } from '../../src/zab/options.ts'
import type { PacketLink, PeerWire } from '../../src/zab/packet-link.ts'
import type { ServerId } from '../../src/zab/quorum.ts'
import {
  EnsemblePeer,
  rememberer,
  type EnsembleOptions,
  type PeerNetwork,
} from '../../src/peer/ensemble-peer.ts'
import { Journal } from '../../src/peer/journal.ts'

const directory = 'data/version-2'
const directories = { snapshotDir: directory, logDir: directory }
const stepMs = 10
const tickMs = 200
const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

/** A packet that one server says to another. */
export interface Said {
  readonly from: ServerId
  readonly to: ServerId
  readonly name: PacketName
  readonly zxid: bigint
  readonly data: Uint8Array | null
}

/** Something on its way, and what becomes of the connection when it never arrives. */
interface Stalled {
  readonly arrive: () => void
  readonly lose: () => void
}

/** The servers, the time they share, and what lies between them. */
export class TestEnsemble {
  nowMs = 1000
  readonly servers = new Map<ServerId, TestServer>()
  readonly text: string
  readonly options: Partial<EnsembleOptions>
  private readonly timers = new Set<{ atMs: number; run: () => void }>()
  /** Told of every packet that one server says to another, when it says it. */
  onSaid: ((said: Said) => void) | undefined
  /** Told whenever something may have changed. */
  onTurn: (() => void) | undefined
  private readonly parted = new Set<ServerId>()
  private readonly held = new Set<string>()
  private readonly stalled: Stalled[] = []
  private posted: (() => void)[] = []
  private seed = 7

  constructor(
    members: Record<string, 'participant' | 'observer'>,
    options: Partial<EnsembleOptions> = {},
  ) {
    this.options = options
    this.text = Object.entries(members)
      .map(([id, role]) => `server.${id}=s${id}:1:2:${role}`)
      .join('\n')
    for (const id of Object.keys(members)) {
      this.servers.set(BigInt(id), new TestServer(this, BigInt(id)))
    }
  }

  server(id: number): TestServer {
    return this.servers.get(BigInt(id))!
  }

  async start(...ids: number[]): Promise<void> {
    for (const id of ids) await this.server(id).start()
  }

  get leader(): TestServer {
    const leader = [...this.servers.values()].find((one) => one.isUp && one.isLeading)
    if (leader === undefined) throw new Error('there is no leader')
    return leader
  }

  get followers(): TestServer[] {
    return [...this.servers.values()].filter((one) => one.isUp && one.isServing && !one.isLeading)
  }

  /** Nothing that is sent from or to it arrives any more before `heal`, and nobody is told. */
  isolate(server: TestServer): void {
    this.parted.add(server.id)
  }

  /** What one server says to others waits until `heal`; what they say arrives. */
  hold(from: TestServer, ...to: TestServer[]): void {
    for (const { id } of to) this.held.add(`${from.id}>${id}`)
  }

  heal(): void {
    this.parted.clear()
    this.held.clear()
    for (const { arrive } of this.stalled.splice(0)) this.post(arrive)
  }

  /** As `heal`, but what was on its way is lost, and so are the connections it was on. */
  healWithLoss(): void {
    this.parted.clear()
    this.held.clear()
    for (const { lose } of this.stalled.splice(0)) this.post(lose)
  }

  /** Carried from one server to another, as soon as they can talk. */
  carry(from: ServerId, to: ServerId, stalled: Stalled): void {
    if (this.isOpen(from, to)) this.post(stalled.arrive)
    else this.stalled.push(stalled)
  }

  canTalk(a: ServerId, b: ServerId): boolean {
    return this.isOpen(a, b) && this.isOpen(b, a)
  }

  private isOpen(from: ServerId, to: ServerId): boolean {
    return !this.parted.has(from) && !this.parted.has(to) && !this.held.has(`${from}>${to}`)
  }

  // --- time ------------------------------------------------------------------------------------

  post(work: () => void): void {
    this.posted.push(work)
  }

  delay(ms: number): ReturnType<Host['delay']> {
    let cut!: () => void
    const done = new Promise<void>((resolve) => {
      const timer = { atMs: this.nowMs + ms, run: resolve }
      this.timers.add(timer)
      cut = () => {
        this.timers.delete(timer)
        resolve()
      }
    })
    return { done, cut }
  }

  random(): number {
    this.seed = (Math.imul(this.seed, 1103515245) + 12345) & 0x7fffffff
    return this.seed / 0x80000000
  }

  /** Everything that follows from what has happened, without time passing. */
  async settle(): Promise<void> {
    let rounds = 0
    do {
      if (++rounds > 10_000) throw new Error('it goes on without end while no time passes')
      for (const work of this.posted.splice(0)) work()
      this.onTurn?.()
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
      this.onTurn?.()
    } while (this.posted.length > 0)
  }

  async step(): Promise<void> {
    this.nowMs += stepMs
    for (const timer of this.timers) {
      if (timer.atMs > this.nowMs) continue
      this.timers.delete(timer)
      timer.run()
    }
    for (const server of this.servers.values()) server.tick()
    await this.settle()
  }

  async pass(ms: number): Promise<void> {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) await this.step()
  }

  async until(what: string, isSo: () => boolean, limitMs = 20_000): Promise<void> {
    await this.settle()
    for (const endMs = this.nowMs + limitMs; !isSo();) {
      if (this.nowMs > endMs) throw new Error(`within ${limitMs} ms it did not come to: ${what}`)
      await this.step()
    }
  }

  /** So many servers serve the same leader. */
  serving(count: number): Promise<void> {
    const serve = (): number => [...this.servers.values()].filter((one) => one.isServing).length
    return this.until(`${count} servers serve`, () => serve() === count)
  }
}

/** One server: its disk, and what runs on it. */
export class TestServer {
  readonly id: ServerId
  disk = new MemoryDisk({ forgetful: true })
  peer: EnsemblePeer | undefined
  journal: Journal | undefined
  epochs: Epochs | undefined
  readonly events: ZabEvent[] = []
  readonly failures: Error[] = []
  running: Promise<void> = Promise.resolve()
  /** Without it no limit is ever reached: it goes on believing what it believes. */
  hasClock = true
  private readonly world: TestEnsemble
  private network: TestNetwork | undefined

  constructor(world: TestEnsemble, id: ServerId) {
    this.world = world
    this.id = id
  }

  get isUp(): boolean {
    return this.peer !== undefined
  }

  get isServing(): boolean {
    return this.peer?.isServing ?? false
  }

  get isLeading(): boolean {
    return this.isServing && this.peer!.state === 'leading'
  }

  get lastZxid(): string {
    const zxid = this.peer!.db.lastZxid
    return `${zxid >> 32n}.${zxid & 0xffffffffn}`
  }

  async start(): Promise<void> {
    const { world, disk, id } = this
    // What a server that has crashed meets on its way out does not matter any more.
    const failed = (error: Error): void => {
      if (this.disk === disk) this.failures.push(error)
    }
    const committedLog = new CommittedLog(500)
    const databaseOptions = {
      extendedTypes: true,
      digests: true,
      hashSeed: 1,
      acl: { skipAcl: false, schemes: new Set<string>() },
    }
    const remember = rememberer(committedLog)
    const { db } = await loadDatabase(disk, directories, databaseOptions, remember)
    const log = new TxnLog(disk, { directory, preAllocBytes: 0, lastZxid: db.lastZxid })
    const epochs = (this.epochs = await Epochs.load(disk, directory, db.lastZxid))
    const network = (this.network = new TestNetwork(world, id))
    const parsed = parseMembership(`${world.text}\nversion=0`)
    if ('problem' in parsed) throw new Error(parsed.problem)
    const membership = parsed.value
    const peer = new EnsemblePeer(
      {
        db,
        databaseOptions,
        recovery: directories,
        disk,
        log,
        epochs,
        committedLog,
        host: hostOf(world),
        network,
        zabTrace: (event) => this.events.push(event),
        ports: {
          authenticator: { schemes: new Set(), authenticate: () => undefined },
          trace: (event) => {
            if (event.type === 'digestMismatch') this.failures.push(new Error('digests differ'))
          },
        },
        wake: () => world.post(() => peer.hasBatch && journal.batchReady()),
      },
      {
        self: id,
        membership,
        electionAddresses: [`s${id}:2`],
        tickMs,
        initLimit: 10,
        syncLimit: 5,
        serverId: Number(id),
        sessionTimeoutMsMin: 2 * tickMs,
        sessionTimeoutMsMax: 60_000,
        outstandingMax: 1000,
        frameBytesMax: 1024 * 1024,
        handshakeMsMax: 10_000,
        rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
        reclaim: { checkIntervalMs: 60_000, perMinuteMax: 10_000, neverUsedMsMax: 0 },
        requiredSchemes: [],
        ...world.options,
      },
      { nowMs: world.nowMs, wallMs: world.nowMs },
    )
    const journal = new Journal(
      {
        source: peer,
        log,
        disk,
        host: hostOf(world),
        trace: () => {},
        turn: (work) => {
          peer.setTime(world.nowMs, world.nowMs)
          work()
        },
      },
      {
        ...directories,
        snapCount: 100_000,
        snapBytes: undefined,
        logBytesMax: undefined,
        slowSyncMs: Infinity,
        retainCount: 3,
        retainBytes: 0,
        purges: false,
        snapshotMethod: 'plain',
        compression: undefined,
      },
      failed,
    )
    peer.journal = this.journal = journal
    network.peer = this.peer = peer
    this.running = peer.run().catch(failed)
  }

  tick(): void {
    const { peer, journal } = this
    if (peer === undefined || !this.hasClock) return
    peer.setTime(this.world.nowMs, this.world.nowMs)
    peer.tick()
    if (peer.hasBatch) journal!.batchReady()
  }

  /** Power fails: what is not durable is gone, and the others see their connections end. */
  crash(): void {
    const { disk, peer } = this
    this.peer = undefined
    disk.crash()
    this.disk = disk.copy()
    // Whatever of the old process is still under way reaches nothing any more.
    disk.fault = () => 'EIO'
    this.network?.die()
    peer?.stop()
  }

  async stop(): Promise<void> {
    const { peer, network } = this
    let isStopped = false
    const stopping = peer!.finish().then(() => {
      peer!.stop()
      this.peer = undefined
      this.world.post(() => network!.die())
      return this.running
    })
    void stopping.then(() => (isStopped = true))
    await this.world.until('the server stops', () => isStopped, 1000)
  }

  async connect(options: Parameters<typeof TestClient.connect>[2] = {}): Promise<TestClient> {
    return TestClient.connect(this.world, this.peer!, options)
  }

  /** The paths of the applied state, without the server's own. */
  get paths(): string[] {
    const { tree } = this.peer!.db
    return [...tree.children(tree.find('/'))]
      .map((id) => tree.pathOf(id))
      .filter((path) => path !== '/zookeeper')
      .toSorted()
  }
}

function hostOf(world: TestEnsemble): Host {
  return {
    monotonicMs: () => world.nowMs,
    wallMs: () => world.nowMs,
    random: () => world.random(),
    delay: (ms) => world.delay(ms),
  }
}

/** One end of a connection between two servers. */
class End {
  other!: End
  isOpen = true
  onBytes: (bytes: Uint8Array) => void = () => {}
  onClosed: () => void = () => {}
  private readonly world: TestEnsemble
  private readonly owner: ServerId

  constructor(world: TestEnsemble, owner: ServerId) {
    this.world = world
    this.owner = owner
  }

  send(bytes: Uint8Array): void {
    const copy = new Uint8Array(bytes)
    const { other, world } = this
    if (!this.isOpen) return
    const arrive = (): void => {
      if (other.isOpen) other.onBytes(copy)
    }
    world.carry(this.owner, other.owner, { arrive, lose: () => this.break() })
  }

  /** Both sides see it end. */
  private break(): void {
    for (const end of [this, this.other]) end.ended()
  }

  private ended(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.onClosed()
  }

  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    const { other, world } = this
    const arrive = (): void => other.ended()
    world.carry(this.owner, other.owner, { arrive, lose: arrive })
  }
}

class TestNetwork implements PeerNetwork {
  peer!: EnsemblePeer
  isListening = false
  private readonly world: TestEnsemble
  private readonly self: ServerId
  private readonly elections = new Map<number, End>()
  private readonly ends = new Set<End>()
  private nextId = 1
  private isDead = false

  constructor(world: TestEnsemble, self: ServerId) {
    this.world = world
    this.self = self
  }

  die(): void {
    this.isDead = true
    for (const end of this.ends) end.close()
  }

  listen(isOn: boolean): void {
    this.isListening = isOn
  }

  async dial(server: ServerId, attach: (wire: PeerWire) => PacketLink): Promise<PacketLink> {
    await Promise.resolve()
    const there = this.reach(server)
    if (there === undefined || !there.isListening) throw new Error('the connection was refused')
    const [mine, theirs] = this.connect(there)
    there.attachWire(theirs, this.self, (wire) => there.peer.acceptLearner(wire))
    return this.attachWire(mine, server, attach)
  }

  private attachWire(end: End, to: ServerId, attach: (wire: PeerWire) => PacketLink): PacketLink {
    let isDirty = false
    let isClosing = false
    const flush = (): void => {
      isDirty = false
      end.send(link.out.written())
      link.out.reset()
      if (isClosing) end.close()
    }
    const flushSoon = (): void => {
      if (isDirty) return
      isDirty = true
      this.world.post(flush)
    }
    const close = (): void => {
      isClosing = true
      flushSoon()
    }
    const link = attach({ flushSoon, close, unsentBytes: 0 })
    const send = link.send.bind(link)
    link.send = (name, zxid, data, authinfo) => {
      if (link.isClosed || this.isDead) return
      this.world.onSaid?.({ from: this.self, to, name, zxid, data: data ?? null })
      send(name, zxid, data, authinfo)
    }
    end.onBytes = (bytes) => this.turn(() => link.received(bytes, this.world.nowMs))
    end.onClosed = () => this.turn(() => link.lost())
    return link
  }

  perform(action: Exclude<LinkAction, { type: 'message' }>): void {
    if (action.type === 'send') {
      const { connection, bytes } = action
      this.elections.get(connection)?.send(bytes)
      this.input((peer) => peer.electionInput((links) => links.sent(connection)))
    } else if (action.type === 'close') {
      const end = this.elections.get(action.connection)
      this.elections.delete(action.connection)
      this.world.post(() => end?.close())
    } else {
      this.dialElection(action.server)
    }
  }

  private dialElection(server: ServerId): void {
    this.input((peer) => {
      const there = this.reach(server)
      if (there === undefined) {
        peer.electionInput((links) => links.dialFailed(server))
        return
      }
      const [mine, theirs] = this.connect(there)
      const theirId = there.adopt(theirs)
      there.peer.electionInput((links) => links.accepted(theirId))
      const id = this.adopt(mine)
      peer.electionInput((links) => links.dialled(server, id))
    })
  }

  private adopt(end: End): number {
    const id = this.nextId++
    this.elections.set(id, end)
    end.onBytes = (bytes) =>
      this.turn((peer) => {
        if (this.elections.has(id)) peer.electionInput((links) => links.received(id, bytes))
      })
    end.onClosed = () =>
      this.turn((peer) => {
        if (this.elections.delete(id)) peer.electionInput((links) => links.closed(id))
      })
    return id
  }

  private reach(server: ServerId): TestNetwork | undefined {
    const there = this.world.servers.get(server)
    if (there?.isUp !== true || !this.world.canTalk(this.self, server)) return undefined
    return there['network']
  }

  private connect(there: TestNetwork): [End, End] {
    const mine = new End(this.world, this.self)
    const theirs = new End(this.world, there.self)
    mine.other = theirs
    theirs.other = mine
    this.ends.add(mine)
    there.ends.add(theirs)
    return [mine, theirs]
  }

  private input(work: (peer: EnsemblePeer) => void): void {
    this.world.post(() => this.turn(work))
  }

  private turn(work: (peer: EnsemblePeer) => void): void {
    if (this.isDead) return
    this.peer.setTime(this.world.nowMs, this.world.nowMs)
    work(this.peer)
  }
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
    options: {
      session?: { sessionId: bigint; password: Uint8Array }
      lastZxidSeen?: bigint
      timeOut?: number
      readOnly?: boolean
      limitMs?: number
    } = {},
  ): Promise<TestClient> {
    const client = new TestClient(world, peer)
    const cutter = new FrameCutter(1024 * 1024)
    let isDirty = false
    const link: ClientLink = {
      address: '127.0.0.1',
      unsentBytes: 0,
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
    const isOver = (): boolean => client.timeoutMs !== undefined || client.isClosed
    await world.until('the handshake is answered', isOver, options.limitMs)
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
