import { randomUUID } from 'node:crypto'
import { ClosedError, isRefusal, SessionExpiredError, settle, type Client } from '@zabra/client'
import { Bell } from '../support/bell.ts'
import { sessionLifetime } from '../support/session-lifetime.ts'
import { paths, statusCodec, taskCodec, type Status } from './layout.ts'

/** A task that a worker has been given. */
export interface Assignment {
  readonly id: string
  readonly input: unknown
  /** The worker's name, which is never reused. */
  readonly worker: string
  /**
   * Grows with each worker that gets this task, so that a resource can refuse an earlier worker.
   */
  readonly token: bigint
  /** Aborts when the task may be given to another worker. */
  readonly signal: AbortSignal
}

/** If it throws, the task has failed. */
export type Work = (assignment: Assignment) => Promise<unknown>

/**
 * Does the tasks that it is given, each once. In every session it is a new worker for the master:
 * the tasks of the previous one are assigned again.
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
   * Works until the client is closed or the signal aborts: then it finishes what it has begun, and
   * the other tasks go to other workers.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        using session = await sessionLifetime(this.client, signal)
        await this.live(`${this.label}-${randomUUID()}`, session.signal, signal)
      } catch (error) {
        if (signal.aborted || error instanceof ClosedError) return
        // A worker whose presence was deleted counts as dead, and comes back as after an expiry.
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

/** Ignores that the node is already deleted. */
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
      // Forgets only what a later listing shows to be gone: a listing may be older than a result.
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
    // The deletion of the assignment decides: either this worker deletes it with a result, or a
    // master that believes the worker dead. The other one is refused.
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
