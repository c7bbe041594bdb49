import { isRefusal, text, type Client } from '@zabra/client'
import { leaderOnly, type Term } from '@zabra/recipes'
import type { RunCoordinator } from 'node-cron'

export interface LeaderCoordinatorOptions {
  /** The name of this instance, for those who want to know who leads. */
  readonly id?: string
}

/**
 * Answers node-cron's question, which instance runs a task this time: the leader. What was begun
 * is written down under the leadership, so that a time is never served twice, neither by a leader
 * that was deposed without knowing it nor by its successor whose clock is behind. A time at which
 * there is no leader is left out.
 *
 *     /PATH/election       who would lead
 *     /PATH/begun/TASK     the last time for which the task was begun
 */
export class LeaderCoordinator implements RunCoordinator, AsyncDisposable {
  private readonly client: Client
  private readonly path: string
  private readonly controller = new AbortController()
  private readonly leading: Promise<void>
  private current: Term | undefined
  /** Why this instance will not lead any more. */
  private failure: { readonly error: unknown } | undefined
  private readonly electors: ((term: Term) => void)[] = []

  private constructor(client: Client, path: string, id: string) {
    this.client = client
    this.path = path
    this.leading = this.lead(id).catch((error: unknown) => {
      this.failure = { error }
    })
  }

  static async open(
    client: Client,
    path: string,
    { id = '' }: LeaderCoordinatorOptions = {},
  ): Promise<LeaderCoordinator> {
    await client.ensure(`${path}/begun`)
    return new LeaderCoordinator(client, path, id)
  }

  /** While this instance leads: its signal and guard are for what the task does. */
  get term(): Term | undefined {
    return this.current
  }

  /** Resolves when this instance leads. */
  elected(): Promise<Term> {
    if (this.current !== undefined) return Promise.resolve(this.current)
    return new Promise((resolve) => this.electors.push(resolve))
  }

  /** Called by node-cron with `TASK:TIME`. What it rejects with makes node-cron leave the time out. */
  async shouldRun(key: string): Promise<boolean> {
    const { current: term, failure } = this
    if (failure !== undefined) throw failure.error
    if (term === undefined || term.signal.aborted) return false
    const { task, time } = parseKey(key)
    const node = `${this.path}/begun/${encodeURIComponent(task)}`
    try {
      const last = await this.lastBegun(node)
      // Times in this form are in order as text.
      if (last !== undefined && last.time >= time) return false
      const transaction = this.client.transaction()
      const claim =
        last === undefined
          ? transaction.create(node, time)
          : transaction.set(node, time, { ifVersion: last.version })
      await term.guard(claim).commit()
      return true
    } catch (error) {
      if (isRefusal(error, 'noNode', 'nodeExists', 'badVersion')) return false
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.controller.abort()
    await this.leading
  }

  private lead(id: string): Promise<void> {
    const { signal } = this.controller
    const beLeader = async (term: Term, until: AbortSignal): Promise<void> => {
      this.current = term
      for (const elected of this.electors.splice(0)) elected(term)
      await aborted(until)
      this.current = undefined
    }
    return leaderOnly(this.client, `${this.path}/election`, beLeader, { id, signal })
  }

  private async lastBegun(node: string): Promise<{ time: string; version: number } | undefined> {
    const found = await this.client.find(node, { codec: text })
    return found && { time: found.data, version: found.stat.version }
  }
}

const isoLength = '2000-01-01T00:00:00.000Z'.length

function parseKey(key: string): { task: string; time: string } {
  return { task: key.slice(0, -isoLength - 1), time: key.slice(-isoLength) }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
