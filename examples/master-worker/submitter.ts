import { randomUUID } from 'node:crypto'
import { isRefusal, retry, type Client } from '@zabra/client'
import { paths, statusCodec, taskCodec } from './layout.ts'

/** The status is written twice: when the task is accepted, and when it has a result. */
const finishedVersion = 1

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
    try {
      await retry(this.client, (limits) => entry.commit(limits))
    } catch (error) {
      if (!isRefusal(error, 'nodeExists')) throw error
    }
    return id
  }

  /** Waits for the output; throws a TaskFailedError where there is none. */
  async result(id: string, signal?: AbortSignal): Promise<unknown> {
    const path = paths.status(id)
    for await (const _ of this.client.watch(path, { initial: true, signal })) {
      const read = () => this.client.get(path, { codec: statusCodec, signal })
      const { data } = await retry(this.client, read, { signal })
      if (data.state === 'done') return data.output
      if (data.state === 'failed') throw new TaskFailedError(data.error)
    }
    throw new Error('unreachable: a watch ends by a throw, or by its reader')
  }

  /** Takes the result away; nobody else does. Refused while there is none. */
  async forget(id: string): Promise<void> {
    await this.client.delete(paths.status(id), { ifVersion: finishedVersion })
  }
}

/** Ids that sort by time, so that tasks are begun roughly in the order in which they came. */
function newTaskId(): string {
  return `${Date.now().toString(16).padStart(12, '0')}-${randomUUID()}`
}
