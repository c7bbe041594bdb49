import { createFlags, errorCodes } from '@zabra/protocol'
import { look } from '../kill/look.ts'
import { Writer } from '../kill/writer.ts'
import { Random } from '../random.ts'
import { ConnectionLostError, type RawClient } from '../raw-client.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'
import { pause } from './lasting-writer.ts'
import type { Ledger } from './ledger.ts'
import { MovingSession } from './moving-session.ts'
import { fleetingMs, places } from './places.ts'

/** A short session on one connection, with its own subtree; its ephemerals are deleted with it. */
export class Life {
  readonly root: string
  private readonly ledger: Ledger
  private readonly random: Random
  private readonly ensemble: EnsembleProcesses
  private readonly writer: Writer
  private client: RawClient | undefined
  private wasClosed = false

  constructor(root: string, ensemble: EnsembleProcesses, ledger: Ledger, seed: number) {
    this.root = root
    this.ensemble = ensemble
    this.ledger = ledger
    this.random = new Random(seed)
    this.writer = new Writer(root, true, new Random(seed + 1))
    this.writer.tide = ledger.tide
  }

  /** Returns whether it has left anything behind. */
  async live(isOver: () => boolean): Promise<boolean> {
    const session = new MovingSession(this.root, this.ensemble, this.random, fleetingMs)
    const client = await session.connect(isOver)
    if (client === undefined) return false
    this.client = client
    if (!(await this.begin(client))) {
      await client.abandon()
      return false
    }
    const endsCleanly = this.random.chance(0.3)
    const dies = setTimeout(() => client.socket.destroy(), this.random.between(500, 4000))
    await this.writer.work(client, places.shared, pause)
    clearTimeout(dies)
    if (endsCleanly) await this.close(session, isOver)
    const { writer, ledger } = this
    for (const zxid of writer.zxids.splice(0)) ledger.acknowledged(this.root, zxid)
    for (const problem of writer.problems.splice(0)) ledger.problem(problem)
    ledger.counts.lives++
    return true
  }

  /** False if it is unknown whether the nodes were created: then nothing can be checked. */
  private async begin(client: RawClient): Promise<boolean> {
    try {
      await client.create(this.marker, '', createFlags.ephemeral)
      await client.create(this.root)
      return true
    } catch (error) {
      const isExpired = /sessionExpired/.test((error as Error).message)
      if (error instanceof ConnectionLostError || isExpired) return false
      throw error
    }
  }

  stop(): void {
    this.client?.socket.destroy()
  }

  /** An ephemeral node that exists as long as the session. */
  get marker(): string {
    return `${places.lives}${this.root}`
  }

  /**
   * After the server has reported the end of the session, its marker must be gone on every server
   * that is up to date.
   */
  async mustBeGone(observer: RawClient): Promise<void> {
    if (!this.wasClosed) return
    const { err } = await observer.call('exists', { path: this.marker, watch: false })
    if (err !== errorCodes.noNode) this.ledger.problem(`${this.root}: closed, and not gone`)
  }

  /**
   * Called when the session has ended: the subtree must contain the first few of its writes,
   * without ephemerals.
   */
  async judge(observer: RawClient): Promise<void> {
    const { writer, ledger, root } = this
    const unanswered = writer.unansweredCount
    const found = await look(observer, root)
    const outcome = writer.settle(found)
    if ('problem' in outcome) {
      ledger.problem(`${root}: ${outcome.problem}`)
      return
    }
    ledger.counts.unanswered += unanswered
    ledger.counts.unansweredDone += unanswered - outcome.lost.length
    for (const { path, data, zxid } of writer.shared) ledger.sharedAcks.set(path, { data, zxid })
    for (const data of writer.unansweredShared()) ledger.sharedUnanswered.add(data)
    for (const path of writer.settled()) {
      const name = path.slice(root.length + 1)
      if (found.nodes.has(name)) ledger.problem(`${path} outlived its session`)
    }
    for (const name of found.nodes.keys()) {
      await observer.must('delete', { path: `${root}/${name}`, version: -1 })
    }
    await observer.must('delete', { path: root, version: -1 })
  }

  /**
   * Some sessions reconnect once more to close: after the answer to that, everything must be gone.
   */
  private async close(session: MovingSession, isOver: () => boolean): Promise<void> {
    const client = await session.connect(isOver).catch(() => undefined)
    if (client === undefined) return
    const lost = { err: errorCodes.connectionLoss }
    const { err } = await client.call('closeSession', {}).catch(() => lost)
    this.wasClosed = err === 0
    await client.abandon()
  }
}
