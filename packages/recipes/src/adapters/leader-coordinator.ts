import { isRefusal, joinPath, text, type Client } from '@zabra/client'
import { Election, type Term } from '../election.ts'

export interface LeaderCoordinatorOptions {
  /**
   * The name of this instance, shown to others when it leads. The host and the process, by default.
   */
  readonly id?: string | undefined
}

/** The interface of node-cron, version 4 and newer: its `RunCoordinator`. */
interface RunCoordinator {
  shouldRun(key: string): Promise<boolean>
}

/**
 * Decides which instance of a program runs a task: the leader. It records each scheduled time under
 * its leadership when the task begins, so that no time runs twice, neither on a deposed leader that
 * does not know it yet nor on a successor whose clock is behind. Times without a leader are
 * skipped.
 *
 *     const coordinator = await LeaderCoordinator.open(client, '/cron')
 *     schedule('0 3 * * *', backUp, { name: 'backup', distributed: true, runCoordinator: coordinator })
 *
 *     /cron/election       the candidates
 *     /cron/begun/TASK     the last time for which the task was begun
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

  private constructor(client: Client, path: string, id: string | undefined) {
    this.client = client
    this.path = path
    this.leading = this.lead(id).catch((error: unknown) => {
      this.failure = { error }
    })
  }

  static async open(
    client: Client,
    path: string,
    { id }: LeaderCoordinatorOptions = {},
  ): Promise<LeaderCoordinator> {
    await client.ensure(joinPath(path, 'begun'))
    return new LeaderCoordinator(client, path, id)
  }

  /** The leadership of this instance, if it leads: its signal and guard are for the task. */
  get term(): Term | undefined {
    return this.current
  }

  /** Resolves when this instance leads. */
  elected(): Promise<Term> {
    if (this.current !== undefined) return Promise.resolve(this.current)
    return new Promise((resolve) => this.electors.push(resolve))
  }

  /** The time of day, by this instance's clock. */
  wallMs(): number {
    const { host } = this.client
    return host.wallMs?.() ?? host.nowMs()
  }

  /** Called by node-cron with `TASK:TIME`. If it rejects, node-cron skips the run. */
  async shouldRun(key: string): Promise<boolean> {
    const { current: term, failure } = this
    if (failure !== undefined) throw failure.error
    if (term === undefined || term.signal.aborted) return false
    const { task, time } = parseKey(key)
    const node = joinPath(this.path, 'begun', encodeURIComponent(task))
    try {
      const last = await this.lastBegun(node)
      // Times in this form sort as text.
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

  /** Gives up leadership, and leaves the election. */
  async close(): Promise<void> {
    this.controller.abort()
    await this.leading
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private lead(id: string | undefined): Promise<void> {
    const { signal } = this.controller
    const beLeader = async (term: Term, until: AbortSignal): Promise<void> => {
      this.current = term
      for (const elected of this.electors.splice(0)) elected(term)
      await aborted(until)
      this.current = undefined
    }
    const election = new Election(this.client, joinPath(this.path, 'election'), { id })
    return election.run(beLeader, { signal })
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
