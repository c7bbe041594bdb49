import { ClosedError, ConnectionLossError, isRefusal, type Client } from '@zabra/client'
import { LostError, type Held } from '@zabra/recipes'
import { Bell } from '../support/bell.ts'
import { paths, statusCodec, taskCodec, type Task } from './layout.ts'

export interface MasterOptions {
  /** The number of tasks that a worker has at a time. */
  readonly tasksPerWorkerMax?: number
  /** A task fails after this many workers died with it: it may be what kills them. */
  readonly lossesMax?: number
}

interface View {
  /** Tasks of the living workers. */
  readonly living: Map<string, Set<string>>
  /** Tasks of workers that are gone and will not come back. */
  readonly gone: ReadonlyMap<string, ReadonlySet<string>>
  readonly waiting: readonly string[]
}

/**
 * Assigns tasks to workers while it leads. Everything it knows is in ZooKeeper, so the next master
 * continues where this one stopped. All its writes are guarded by its leadership, so a master that
 * does not know yet that it was deposed changes nothing.
 */
export class Master {
  private readonly client: Client
  private readonly leadership: Held
  private readonly tasksPerWorkerMax: number
  private readonly lossesMax: number

  constructor(client: Client, leadership: Held, options: MasterOptions = {}) {
    this.client = client
    this.leadership = leadership
    this.tasksPerWorkerMax = options.tasksPerWorkerMax ?? 4
    this.lossesMax = options.lossesMax ?? 10
  }

  /**
   * Resolves when the signal aborts (by default, that of the leadership), or the client is closed.
   */
  async run(signal: AbortSignal = this.leadership.signal): Promise<void> {
    const bell = new Bell()
    await using tasks = this.client.watch(paths.tasks, { signal })
    await using workers = this.client.watch(paths.workers, { signal })
    await using assignments = this.client.watch(paths.assignments, { recursive: true, signal })
    for (const changes of [tasks, workers, assignments]) void bell.ringAt(changes)
    bell.ring()
    while (await bell.heard(signal)) {
      try {
        await this.sweep()
      } catch (error) {
        if (signal.aborted || error instanceof ClosedError) return
        if (!(error instanceof ConnectionLossError)) throw error
        bell.ring()
      }
    }
  }

  /** Reads everything once, and does what is necessary. */
  async sweep(): Promise<void> {
    const view = await this.look()
    await Promise.all([...view.gone].map(([worker, ids]) => this.recover(worker, ids)))
    await this.assign(view)
  }

  /**
   * A worker's presence and its node for assignments are created together, under a name that is
   * never reused. So a worker with a node for assignments that is not present later is gone.
   */
  private async look(): Promise<View> {
    const { client } = this
    const [known, present, waiting] = await Promise.all([
      client.children(paths.assignments),
      client.children(paths.workers),
      client.children(paths.tasks),
    ])
    const alive = new Set(present)
    const living = new Map<string, Set<string>>()
    const gone = new Map<string, Set<string>>()
    await Promise.all(
      known.map(async (worker) => {
        const ids = new Set(await this.assignedTo(worker))
        if (alive.has(worker)) living.set(worker, ids)
        else gone.set(worker, ids)
      }),
    )
    return { living, gone, waiting: waiting.toSorted() }
  }

  private async assignedTo(worker: string): Promise<string[]> {
    try {
      return await this.client.children(paths.assignmentsOf(worker))
    } catch (error) {
      if (isRefusal(error, 'noNode')) return []
      throw error
    }
  }

  // --- giving ----------------------------------------------------------------------------------

  private async assign({ living, waiting }: View): Promise<void> {
    const steps: Promise<void>[] = []
    for (const id of waiting) {
      const worker = this.leastLoaded(living)
      if (worker === undefined) break
      living.get(worker)?.add(id)
      steps.push(this.give(id, worker))
    }
    await Promise.all(steps)
  }

  private leastLoaded(living: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
    let found: string | undefined
    let least = this.tasksPerWorkerMax
    for (const [worker, { size }] of living) {
      if (size >= least) continue
      found = worker
      least = size
    }
    return found
  }

  private give(id: string, worker: string): Promise<void> {
    return this.unlessOvertaken(async () => {
      const { data, stat } = await this.client.get(paths.task(id), { codec: taskCodec })
      const move = this.client
        .transaction()
        .delete(paths.task(id), { ifVersion: stat.version })
        .check(paths.worker(worker))
        .create(paths.assignment(worker, id), data, { codec: taskCodec })
      await this.leadership.guard(move).commit()
    })
  }

  // --- taking back -----------------------------------------------------------------------------

  private async recover(worker: string, ids: ReadonlySet<string>): Promise<void> {
    await Promise.all([...ids].map((id) => this.takeBack(worker, id)))
    await this.unlessOvertaken(async () => {
      const removal = this.client.transaction().delete(paths.assignmentsOf(worker))
      await this.leadership.guard(removal).commit()
    })
  }

  private takeBack(worker: string, id: string): Promise<void> {
    return this.unlessOvertaken(async () => {
      const place = paths.assignment(worker, id)
      const { data } = await this.client.get(place, { codec: taskCodec })
      const task: Task = { ...data, losses: data.losses + 1 }
      const removal = this.client.transaction().delete(place)
      const move =
        task.losses < this.lossesMax
          ? removal.create(paths.task(id), task, { codec: taskCodec })
          : removal.set(
              paths.status(id),
              { state: 'failed', error: `${task.losses} workers were lost with it` },
              { codec: statusCodec },
            )
      await this.leadership.guard(move).commit()
    })
  }

  /**
   * Another client was faster: the worker has died or has finished, or there is another master.
   * Either way a watched node has changed, so the next sweep will handle it.
   */
  private async unlessOvertaken(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      // Deposed: the signal ends the loop.
      if (error instanceof LostError) return
      if (!isRefusal(error, 'noNode', 'nodeExists', 'badVersion', 'notEmpty')) throw error
    }
  }
}
