import { setTimeout as delay } from 'node:timers/promises'
import { errorCodes, eventTypes, type Stat } from '@zabra/protocol'
import { Random } from '../random.ts'
import { ConnectionLostError, textOf, type RawClient } from '../raw-client.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'
import { hex, type Ledger } from './ledger.ts'
import { MovingSession } from './moving-session.ts'
import { lastingMs, places } from './places.ts'

const unknown = Number.MAX_SAFE_INTEGER

/**
 * Reads, writes and watches registers that others use too. A value that it has seen must never be
 * undone on any server, and a watched register must not change without a notification.
 */
export class HotClient {
  readonly session: MovingSession
  private readonly ledger: Ledger
  private readonly random: Random
  private client: RawClient | undefined
  private isStopping = false
  private writes = 0
  /** The newest version seen, by register. */
  private readonly seen = new Map<string, number>()
  /** The version at which a watch was set, by register, until it fires; unknown at first. */
  private readonly watched = new Map<string, number>()
  private highestZxid = 0n

  constructor(number: number, ensemble: EnsembleProcesses, ledger: Ledger, seed: number) {
    this.ledger = ledger
    this.random = new Random(seed)
    this.session = new MovingSession(`hot-${number}`, ensemble, this.random, lastingMs)
  }

  async run(): Promise<void> {
    this.isStopping = false
    while (!this.isStopping) {
      const client = await this.session.connect(() => this.isStopping)
      if (client === undefined) return
      this.client = client
      const moves = setTimeout(() => client.socket.destroy(), this.random.between(50, 1500))
      try {
        await this.restoreWatches(client)
        while (client.isConnected) {
          await this.step(client, this.random.pick(places.registers))
          await delay(this.random.between(0, 10))
        }
      } catch (error) {
        if (!(error instanceof ConnectionLostError)) throw error
      }
      clearTimeout(moves)
      this.takeEvents(client)
      await client.abandon()
      this.ledger.counts.moves++
    }
  }

  stop(): void {
    this.isStopping = true
    this.client?.socket.destroy()
  }

  private get name(): string {
    return this.session.name
  }

  private async restoreWatches(client: RawClient): Promise<void> {
    for (const [path, version] of this.watched) if (version === unknown) this.watched.delete(path)
    if (this.watched.size === 0) return
    const { err } = await client.call('setWatches', {
      relativeZxid: this.session.lastZxid,
      dataWatches: [...this.watched.keys()],
      existWatches: [],
      childWatches: [],
    })
    if (err !== 0) this.ledger.problem(`${this.name}: its watches were refused with ${err}`)
  }

  private step(client: RawClient, path: string): Promise<void> {
    const dice = this.random.int(10)
    if (dice < 3) return this.set(client, path, false)
    if (dice < 4) return this.set(client, path, true)
    if (dice < 6) return this.syncAndRead(client, path)
    return this.read(client, path, dice < 8).then(() => undefined)
  }

  /** Reads a register; returns the zxid of the reply. */
  private async read(client: RawClient, path: string, watch: boolean): Promise<bigint> {
    // Set before the request, because the event may arrive in the same chunk as the answer.
    if (watch && !this.watched.has(path)) this.watched.set(path, unknown)
    const { err, zxid, response } = await client.call('getData', { path, watch })
    this.takeEvents(client)
    this.ledger.counts.reads++
    if (err !== 0 || response === undefined) {
      this.ledger.problem(`${this.name}: reading ${path} was refused with ${err}`)
      return zxid
    }
    this.see(path, zxid, response.stat, textOf(response.data) ?? '')
    if (this.watched.get(path) === unknown) this.watched.set(path, response.stat.version)
    return zxid
  }

  private see(path: string, zxid: bigint, { version, mzxid }: Stat, data: string): void {
    const { ledger, name } = this
    const before = this.seen.get(path) ?? 0
    if (version < before) ledger.problem(`${name}: ${path} went from ${before} back to ${version}`)
    if (zxid < this.highestZxid) {
      ledger.problem(`${name}: a server at ${hex(zxid)} answered, after ${hex(this.highestZxid)}`)
    }
    if (mzxid > zxid) ledger.problem(`${name}: ${path} is of ${hex(mzxid)}, read at ${hex(zxid)}`)
    const watchedAt = this.watched.get(path)
    if (watchedAt !== undefined && version > watchedAt) {
      ledger.problem(`${name}: ${path} became ${version} unsaid; watched since ${watchedAt}`)
      this.watched.delete(path)
    }
    this.seen.set(path, Math.max(version, before))
    if (zxid > this.highestZxid) this.highestZxid = zxid
    ledger.register(path).observe(name, version, { data, mzxid })
  }

  private async set(client: RawClient, path: string, inMulti: boolean): Promise<void> {
    const version = this.seen.get(path)
    if (version === undefined) return
    const { ledger, name } = this
    const text = `${name} ${++this.writes}`
    const data = Buffer.from(text)
    const floor = ledger.tide.zxid
    const { err, zxid, stat } = inMulti
      ? await setInMulti(client, path, data, version)
      : await setAlone(client, path, data, version)
    this.takeEvents(client)
    if (err === errorCodes.badVersion) {
      await this.read(client, path, false)
      return
    }
    if (err !== 0) {
      ledger.problem(`${name}: setting ${path} was refused with ${err}`)
      return
    }
    ledger.acknowledged(name, zxid)
    if (zxid <= floor) ledger.problem(`${name}: zxid ${hex(zxid)}, sent after ${hex(floor)}`)
    if (stat === undefined || stat.version !== version + 1) {
      ledger.problem(`${name}: ${path} was set at ${version} and became ${stat?.version}`)
      return
    }
    this.see(path, zxid, stat, text)
  }

  /** After a sync, everything that was acknowledged before it must be visible. */
  private async syncAndRead(client: RawClient, path: string): Promise<void> {
    const { ledger, name } = this
    const floor = ledger.tide.zxid
    const { version } = ledger.register(path)
    const { err } = await client.call('sync', { path })
    if (err !== 0) ledger.problem(`${name}: sync was refused with ${err}`)
    const zxid = await this.read(client, path, false)
    ledger.counts.syncs++
    if (zxid >= floor && (this.seen.get(path) ?? 0) >= version) return
    ledger.problem(`${name}: after a sync ${hex(zxid)}; ${hex(floor)} was acknowledged before`)
  }

  private takeEvents(client: RawClient): void {
    for (const { type, path } of client.events.splice(0)) {
      this.ledger.counts.events++
      if (type !== eventTypes.nodeDataChanged) {
        this.ledger.problem(`${this.name}: an event of type ${type} for ${path}`)
      }
      this.watched.delete(path)
    }
  }
}

interface Outcome {
  readonly err: number
  readonly zxid: bigint
  readonly stat: Stat | undefined
}

async function setAlone(
  client: RawClient,
  path: string,
  data: Uint8Array,
  version: number,
): Promise<Outcome> {
  const { err, zxid, response } = await client.call('setData', { path, data, version })
  return { err, zxid, stat: response?.stat }
}

async function setInMulti(
  client: RawClient,
  path: string,
  data: Uint8Array,
  version: number,
): Promise<Outcome> {
  const { err, zxid, response } = await client.call('multi', [
    { type: 13, request: { path, version } },
    { type: 5, request: { path, data, version } },
  ])
  const failed = response?.find((result) => result.err !== 0)
  const last = response?.at(-1)
  const set = last !== undefined && 'response' in last ? last.response : undefined
  return { err: failed?.err ?? err, zxid, stat: (set as { stat: Stat } | undefined)?.stat }
}
