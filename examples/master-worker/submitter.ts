import { randomUUID } from 'node:crypto'
import { isRefusal, retry, type Client } from '@zabra/client'
import { paths, statusCodec, taskCodec } from './layout.ts'

/** The status is written twice: when the task is accepted, and when it has a result. */
const finishedVersion = 1

/** The task was tried, and there will be no output. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError'
}

/** Submits tasks and waits for their results, in this session or a later one. */
export class Submitter {
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  /**
   * Resolves to the id of the task once it cannot be lost. The caller may choose the id; its status
   * stays until `forget`, so submitting again after a lost reply does not create a second task.
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

  /** Waits for the output; throws a TaskFailedError if the task failed. */
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

  /** Deletes the result; only the submitter does this. Refused before there is a result. */
  async forget(id: string): Promise<void> {
    await this.client.delete(paths.status(id), { ifVersion: finishedVersion })
  }
}

/** Ids that sort by time, so that tasks begin roughly in the order of submission. */
function newTaskId(): string {
  return `${Date.now().toString(16).padStart(12, '0')}-${randomUUID()}`
}
