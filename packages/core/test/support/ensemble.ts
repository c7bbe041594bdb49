/** Whole servers of an ensemble in one process: virtual time, disks that forget, no sockets. */
import type { PacketName } from '@zabra/protocol'
import type { EnsembleOptions } from '../../src/peer/ensemble-parts.ts'
import type { Host } from '../../src/ports.ts'
import type { ServerId } from '../../src/membership/quorum.ts'
import { TestNetwork } from './test-network.ts'
import { TestServer } from './test-server.ts'

const stepMs = 10

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
  /** Whether everybody may do everything. */
  skipAcl = false
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

  /** A server that is no member; its own configuration file says it were one. */
  addStranger(id: number, role: 'participant' | 'observer' = 'participant'): TestServer {
    const stranger = new TestServer(this, BigInt(id), `server.${id}=s${id}:1:2:${role}`)
    this.servers.set(stranger.id, stranger)
    return stranger
  }

  server(id: number): TestServer {
    return this.servers.get(BigInt(id))!
  }

  async start(...ids: number[]): Promise<void> {
    for (const id of ids) await this.server(id).start()
  }

  /** The connections of a starting server to the others. */
  networkFor(id: ServerId): TestNetwork {
    return new TestNetwork(this, id)
  }

  get leader(): TestServer {
    const leader = [...this.servers.values()].find((one) => one.isUp && one.isLeading)
    if (leader === undefined) throw new Error('there is no leader')
    return leader
  }

  get followers(): TestServer[] {
    return [...this.servers.values()].filter((one) => one.isUp && one.isServing && !one.isLeading)
  }

  /** Nothing that is sent from or to it arrives any more before `heal`, without notice. */
  isolate(server: TestServer): void {
    this.parted.add(server.id)
  }

  /** Messages of one server to others wait until `heal`; messages to it arrive. */
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

  /** Waits until this number of servers serves under the same leader. */
  serving(count: number): Promise<void> {
    const serve = (): number => [...this.servers.values()].filter((one) => one.isServing).length
    return this.until(`${count} servers serve`, () => serve() === count)
  }
}
