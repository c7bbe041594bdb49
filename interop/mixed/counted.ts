import { setTimeout as delay } from 'node:timers/promises'
import { ConnectionLostError, RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { Member } from './ensemble.ts'

/** The result of a read after a sync. */
export type Seen = 'current' | 'stale' | 'refused' | 'lost'
export type Tally = Record<Seen, number>

export const noneSeen = (): Tally => ({ current: 0, stale: 0, refused: 0, lost: 0 })

export const sessionTimeoutMs = 60_000
const path = '/counted'
const connectMsMax = 2000
const pauseMs = 20

/**
 * A node that many clients write. Its version is the number that each write increases, so a write
 * that happens late, because its client lost the connection, never lowers the number.
 */
export class Counted {
  /** The highest number that any server has acknowledged. */
  acknowledged = 0

  static async create(at: Member): Promise<Counted> {
    const client = await RawClient.connect(at.port)
    await client.create(path)
    await client.close()
    return new Counted()
  }

  async write(client: RawClient): Promise<void> {
    const { stat } = await client.must('setData', { path, data: null, version: -1 })
    this.acknowledged = Math.max(this.acknowledged, stat.version)
  }

  /** Sends a sync and a read together; the read must show all that is acknowledged by now. */
  async syncAndRead(client: RawClient): Promise<Seen> {
    const { acknowledged } = this
    try {
      const [synced, read] = await Promise.all([
        client.call('sync', { path }),
        client.call('getData', { path, watch: false }),
      ])
      if (synced.err !== 0 || read.response === undefined) return 'refused'
      return read.response.stat.version < acknowledged ? 'stale' : 'current'
    } catch (error) {
      if (error instanceof ConnectionLostError) return 'lost'
      throw error
    }
  }

  /** How long each of many syncs takes, one after the other. */
  async timeSyncs(at: Member, count: number): Promise<number[]> {
    const client = await RawClient.connect(at.port)
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      const sentMs = performance.now()
      await client.must('sync', { path })
      times.push(performance.now() - sentMs)
    }
    await client.close()
    return times
  }
}

/**
 * A writer and a reader on each server, each with one request at a time. They connect again whenever
 * they lose their connection.
 */
export class Traffic {
  readonly problems: string[] = []
  private readonly seen = new Map<Member, Tally>()
  private readonly loops: readonly Promise<void>[]
  private isOver = false

  constructor(members: readonly Member[], counted: Counted) {
    this.loops = members.flatMap((member) => {
      const seen = noneSeen()
      this.seen.set(member, seen)
      return [
        this.repeat(member, (client) => counted.write(client)),
        this.repeat(member, async (client) => {
          seen[await counted.syncAndRead(client)]++
        }),
      ]
    })
  }

  /** The results of the readers of a server. */
  through(member: Member): Tally {
    return this.seen.get(member) ?? noneSeen()
  }

  /** The lowest number of current reads of any reader. */
  get fewest(): number {
    return Math.min(...[...this.seen.values()].map(({ current }) => current))
  }

  /** Resolves when all requests are answered. */
  async stop(): Promise<void> {
    this.isOver = true
    await Promise.all(this.loops)
  }

  private async repeat(member: Member, act: (client: RawClient) => Promise<void>): Promise<void> {
    const options = { timeoutMs: sessionTimeoutMs, patienceMs: connectMsMax }
    while (!this.isOver) {
      try {
        const client = await RawClient.connect(member.port, options)
        while (!this.isOver && client.isConnected) await act(client)
        await client.close()
      } catch (error) {
        if (error instanceof ConnectionLostError) continue
        this.problems.push(`a client of ${member.name}: ${String(error)}`)
        return
      } finally {
        await delay(pauseMs)
      }
    }
  }
}
