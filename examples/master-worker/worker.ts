import { randomUUID } from 'node:crypto'
import { ClosedError, isRefusal, SessionExpiredError, settle, type Client } from '@zabra/client'
import { Bell } from '../support/bell.ts'
import { sessionLifetime } from '../support/session-lifetime.ts'
import { paths, statusCodec, taskCodec, type Status } from './layout.ts'

/** A task in the hands of a worker. */
export interface Assignment {
  readonly id: string
  readonly input: unknown
  /** The worker's name, which no other ever had. */
  readonly worker: string
  /** Grows with each worker that gets this task: whatever the work writes to can refuse old ones. */
  readonly token: bigint
  /** Aborts when the task may be given to somebody else. */
  readonly signal: AbortSignal
}

/** What is thrown becomes the task's result too: it has failed. */
export type Work = (assignment: Assignment) => Promise<unknown>

/**
 * Does the tasks that it is given, each once. With every session it is another worker as far as
 * the master is concerned: what the former one had is given to somebody anew.
 */
export class Worker {
  private readonly client: Client
  private readonly label: string
  private readonly work: Work

  constructor(client: Client, label: string, work: Work) {
    this.client = client
    this.label = label
    this.work = work
  }

  /**
   * Works until the client is closed; or until the signal aborts: then it finishes what it has
   * begun, and the rest is given to others.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        using session = await sessionLifetime(this.client, signal)
        await this.live(`${this.label}-${randomUUID()}`, session.signal, signal)
      } catch (error) {
        if (signal.aborted || error instanceof ClosedError) return
        // Whose presence somebody has deleted counts as dead, and comes back like after an expiry.
        const isDead = error instanceof SessionExpiredError || isRefusal(error, 'noNode')
        if (!isDead) throw error
      }
    }
  }

  private async live(name: string, session: AbortSignal, signal: AbortSignal): Promise<void> {
    const place = this.client
      .transaction()
      .create(paths.worker(name), '', { ephemeral: true })
      .create(paths.assignmentsOf(name))
    await settle(this.client, (limits) => place.commit(limits), {
      done: 'nodeExists',
      signal: session,
    })
    const over = new AbortController()
    const life = AbortSignal.any([session, over.signal])
    try {
      await new Shift(this.client, name, this.work, life).run(signal)
    } finally {
      over.abort()
      if (!session.aborted)
        await unlessGone(
          settle(this.client, (limits) => this.client.delete(paths.worker(name), limits), {
            done: 'noNode',
            signal: session,
          }),
        )
    }
  }
}

/** What somebody else has deleted need not be deleted any more. */
async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion
  } catch (error) {
    if (!isRefusal(error, 'noNode')) throw error
  }
}

/** The life of a worker under one name. */
class Shift {
  private readonly client: Client
  private readonly name: string
  private readonly work: Work
  private readonly life: AbortSignal
  private readonly bell = new Bell()
  private readonly begun = new Map<string, Promise<void>>()
  private failure: { readonly error: unknown } | undefined

  constructor(client: Client, name: string, work: Work, life: AbortSignal) {
    this.client = client
    this.name = name
    this.work = work
    this.life = life
  }

  async run(stop: AbortSignal): Promise<void> {
    const { begun, bell, life } = this
    const place = paths.assignmentsOf(this.name)
    await using changes = this.client.watch(place, { signal: life })
    void bell.ringAt(changes)
    bell.ring()
    const end = AbortSignal.any([life, stop])
    while (await bell.heard(end)) {
      if (this.failure !== undefined) throw this.failure.error
      const ids = new Set(await this.client.children(place))
      for (const id of ids) if (!begun.has(id)) begun.set(id, this.begin(id))
      // Only what was seen to be gone is forgotten: a listing may be older than a result.
      for (const id of begun.keys()) if (!ids.has(id)) begun.delete(id)
    }
    life.throwIfAborted()
    await Promise.all(begun.values())
  }

  private async begin(id: string): Promise<void> {
    try {
      await this.carryOut(id)
    } catch (error) {
      if (this.life.aborted) return
      this.failure ??= { error }
      this.bell.ring()
    }
  }

  private async carryOut(id: string): Promise<void> {
    const { client, name, life } = this
    const place = paths.assignment(name, id)
    const { data, stat } = await client.get(place, { codec: taskCodec })
    const status = await this.attempt({
      id,
      input: data.input,
      worker: name,
      token: stat.czxid,
      signal: life,
    })
    // Who takes the assignment away decides: this worker with a result, or a master that holds it
    // for dead. The other one is refused.
    const report = client
      .transaction()
      .delete(place)
      .set(paths.status(id), status, { codec: statusCodec })
    await unlessGone(
      settle(client, (limits) => report.commit(limits), { done: 'noNode', signal: life }),
    )
  }

  private async attempt(assignment: Assignment): Promise<Status> {
    try {
      return { state: 'done', output: (await this.work(assignment)) ?? null }
    } catch (error) {
      return { state: 'failed', error: error instanceof Error ? error.message : String(error) }
    }
  }
}
