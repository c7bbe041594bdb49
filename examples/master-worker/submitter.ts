import { randomUUID } from 'node:crypto'
import { ConnectionLossError, isRefusal, type Client } from '@zabra/client'
import { paths, statusCodec, taskCodec } from './layout.ts'

/** A task was tried, and there will be no output. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError'
}

/** Hands in tasks, and learns what becomes of them, in this session or a later one. */
export class Submitter {
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  /**
   * Resolves to the task's id when it cannot be lost any more. The id is chosen here, and its
   * status is there until `forget`: so a task handed in again because a reply was lost is one task.
   */
  async submit(input: unknown, id: string = newTaskId()): Promise<string> {
    const entry = this.client
      .transaction()
      .create(paths.status(id), { state: 'accepted' }, { codec: statusCodec })
      .create(paths.task(id), { input, losses: 0 }, { codec: taskCodec })
    for (;;) {
      try {
        await entry.commit()
        return id
      } catch (error) {
        if (isRefusal(error, 'nodeExists')) return id
        if (!(error instanceof ConnectionLossError)) throw error
      }
    }
  }

  /** Waits for the output; throws a TaskFailedError where there is none. */
  async result(id: string, signal?: AbortSignal): Promise<unknown> {
    const watchOptions = { initial: true, renew: true, signal }
    for await (const { type } of this.client.watch(paths.status(id), watchOptions)) {
      if (type === 'children') continue
      const { data } = await this.client.get(paths.status(id), { codec: statusCodec, signal })
      if (data.state === 'done') return data.output
      if (data.state === 'failed') throw new TaskFailedError(data.error)
    }
    throw new Error('unreachable: a watch ends by a throw, or by its reader')
  }

  /** Takes the result away; nobody else does. */
  async forget(id: string): Promise<void> {
    await this.client.delete(paths.status(id))
  }
}

/** Ids that sort by time, so that tasks are begun roughly in the order in which they came. */
function newTaskId(): string {
  return `${Date.now().toString(16).padStart(12, '0')}-${randomUUID()}`
}
