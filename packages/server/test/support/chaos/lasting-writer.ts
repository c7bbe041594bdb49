import { setTimeout as delay } from 'node:timers/promises'
import { look } from '../kill/look.ts'
import { Writer } from '../kill/writer.ts'
import { Random } from '../random.ts'
import { ConnectionLostError, type RawClient } from '../raw-client.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'
import type { Ledger } from './ledger.ts'
import { MovingSession } from './moving-session.ts'
import { lastingMs, places } from './places.ts'

/**
 * One session that writes into its own subtree during the whole trial, on any server that accepts
 * it. After each move it first finds out which unanswered writes took effect: they must be the
 * first few, and the rest must never take effect.
 */
export class LastingWriter {
  readonly root: string
  readonly session: MovingSession
  private readonly ledger: Ledger
  private readonly random: Random
  private readonly writer: Writer
  private client: RawClient | undefined
  private isStopping = false
  private barriers = 0

  constructor(number: number, ensemble: EnsembleProcesses, ledger: Ledger, seed: number) {
    this.root = `/writer-${number}`
    this.ledger = ledger
    this.random = new Random(seed)
    this.session = new MovingSession(this.root, ensemble, this.random, lastingMs)
    this.writer = new Writer(this.root, false, new Random(seed + 1))
    this.writer.tide = ledger.tide
  }

  /** Works until `stop` is called. */
  async run(): Promise<void> {
    this.isStopping = false
    while (!this.isStopping) {
      const client = await this.session.connect(() => this.isStopping)
      if (client === undefined) return
      this.client = client
      if (await this.settle(client)) {
        const moves = setTimeout(() => client.socket.destroy(), this.random.between(200, 3000))
        await this.writer.work(client, places.shared, pause)
        clearTimeout(moves)
        this.balance()
      }
      await client.abandon()
      this.ledger.counts.moves++
    }
  }

  /** Drops the connection as it is; `run` resolves soon after. */
  stop(): void {
    this.isStopping = true
    this.client?.socket.destroy()
  }

  /** Called when the ensemble is healthy: settles all unanswered writes. */
  async settleFinally(isOver: () => boolean): Promise<void> {
    for (;;) {
      const client = await this.session.connect(isOver)
      if (client === undefined) {
        this.ledger.problem(`${this.root}: no server took its session in time`)
        return
      }
      const isSettled = await this.settle(client)
      await client.abandon()
      if (isSettled) return
    }
  }

  private balance(): void {
    const { writer, ledger } = this
    for (const zxid of writer.zxids.splice(0)) ledger.acknowledged(this.root, zxid)
    for (const problem of writer.problems.splice(0)) ledger.problem(problem)
  }

  /** Settles unanswered writes; false if the connection was lost in the meantime. */
  private async settle(client: RawClient): Promise<boolean> {
    const { root, writer, ledger } = this
    try {
      // Only a write certainly has a quorum: after it, a read shows the final result.
      const path = `${places.barriers}${root}`
      const data = Buffer.from(String(++this.barriers))
      await client.must('setData', { path, data, version: -1 })
      const found = await look(client, root)
      const unanswered = writer.unansweredCount
      const outcome = writer.settle(found)
      if ('problem' in outcome) {
        ledger.problem(`${root}: ${outcome.problem}; after barrier ${this.barriers}`)
        this.isStopping = true
        return true
      }
      ledger.counts.unanswered += unanswered
      ledger.counts.unansweredDone += unanswered - outcome.lost.length
      for (const { path: node, data: text, zxid } of writer.shared) {
        ledger.sharedAcks.set(node, { data: text, zxid })
      }
      for (const text of writer.unansweredShared()) ledger.sharedUnanswered.add(text)
      writer.settled()
      return true
    } catch (error) {
      if (error instanceof ConnectionLostError) return false
      throw error
    }
  }
}

/** Limits the load, because many processes share the machine. */
export const pause = (random: Random): Promise<void> => delay(random.between(20, 120))
