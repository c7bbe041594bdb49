import { isRefusal, joinPath, text, type CallOptions, type Client } from '@zabra/client'
import { callNames, checkOptionNames, onAbort } from '@zabra/client/internal'
import { Election, type Term } from '../election.ts'
import { LostError } from '../holding/held.ts'
import { limited, orAborted } from '../waiting/limits.ts'

export interface LeaderCoordinatorOptions extends CallOptions {
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
  private readonly electors = new Set<() => void>()

  private constructor(client: Client, path: string, id: string | undefined) {
    this.client = client
    this.path = path
    this.leading = this.lead(id).catch((error: unknown) => {
      // It was closed; a scheduler that asks later learns that it does not lead.
      if (!this.controller.signal.aborted) this.failure = { error }
    })
  }

  /**
   * Resolves when the instance stands for election; it need not lead yet.
   *
   *     await using coordinator = await LeaderCoordinator.open(client, '/cron')
   */
  static async open(
    client: Client,
    path: string,
    options: LeaderCoordinatorOptions = {},
  ): Promise<LeaderCoordinator> {
    checkOptionNames('LeaderCoordinator', options, { id: true, ...callNames })
    const { id, ...limits } = options
    await client.ensure(joinPath(path, 'begun'), limits)
    return new LeaderCoordinator(client, path, id)
  }

  /** The leadership of this instance, if it leads: its signal and guard are for the task. */
  get term(): Term | undefined {
    return this.current
  }

  /**
   * Resolves when this instance leads. Rejects with a LostError if it is closed before, and with the
   * reason if it cannot stand for election any more.
   *
   *     const term = await coordinator.elected({ timeoutMs: 60_000 })
   */
  elected(options: CallOptions = {}): Promise<Term> {
    const wait = async (signal: AbortSignal): Promise<Term> => {
      // The race leaves something behind with a promise that lasts.
      if (this.current === undefined) await Promise.race([this.untilLeading(signal), this.leading])
      if (this.failure !== undefined) throw this.failure.error
      return this.current ?? Promise.reject(new LostError('released', this.path))
    }
    return limited(this.client, options, wait, false, { path: this.path, what: 'not elected' })
  }

  private async untilLeading(signal: AbortSignal): Promise<void> {
    if (this.current !== undefined) return
    let elected = (): void => {}
    const leads = new Promise<void>((resolve) => this.electors.add((elected = resolve)))
    try {
      await orAborted(leads, signal)
    } finally {
      this.electors.delete(elected)
    }
  }

  /**
   * The time of day, by this instance's clock.
   *
   *     console.log(new Date(coordinator.wallMs()))
   */
  wallMs(): number {
    const { host } = this.client
    return host.wallMs?.() ?? host.nowMs()
  }

  /**
   * Called by node-cron with `TASK:TIME`. If it rejects, node-cron skips the run.
   *
   *     if (await coordinator.shouldRun('backup:2030-01-01T03:00:00.000Z')) await backUp()
   */
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

  /**
   * Gives up leadership, and leaves the election.
   *
   *     await coordinator.close() // or: await using coordinator = await LeaderCoordinator.open(...)
   */
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
      for (const elected of this.electors) elected()
      await new Promise<void>((resolve) => onAbort(until, () => resolve()))
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
