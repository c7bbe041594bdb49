/** The commands of contender.ts for queues whose items have a time or an id. */
import { text, type Client } from '@zabra/client'
import { DelayQueue, IdQueue } from '@zabra/recipes'

const timeoutMs = 60_000

/** Of one hand. */
export class Queuer {
  private readonly client: Client
  private readonly tell: (what: string) => void
  private readonly stopping = new AbortController()
  private draining: Promise<void> | undefined

  constructor(client: Client, tell: (what: string) => void) {
    this.client = client
    this.tell = tell
  }

  /** False if the wish is not one of queues. */
  async fulfill([wish, ...args]: readonly string[]): Promise<boolean> {
    const { client, tell } = this
    const [kind = '', path = '', value = '', mark = ''] = args
    switch (wish) {
      case 'enqueue': {
        if (kind === 'delay') {
          await using queue = new DelayQueue(client, path, { codec: text })
          await queue.put(value, { dueMs: Number(mark), timeoutMs })
        } else {
          await using queue = new IdQueue(client, path, { codec: text })
          await queue.put(value, mark, { timeoutMs })
        }
        tell('done')
        return true
      }
      case 'drain':
        this.draining = this.drain(open(client, kind, path))
        return true
      case 'stop':
        this.stopping.abort()
        await this.draining
        tell('stopped')
        return true
      case 'grab': {
        const item = await open(client, kind, path).take({ timeoutMs })
        tell(`item ${item.value} ${Date.now()}`)
        return true
      }
      case 'remove': {
        const [from = '', id = ''] = args
        await using queue = new IdQueue(client, from, { codec: text })
        tell(`removed ${await queue.remove(id, { timeoutMs })}`)
        return true
      }
      default:
        return false
    }
  }

  private async drain(queue: DelayQueue<string> | IdQueue<string>): Promise<void> {
    const { signal } = this.stopping
    try {
      for await (const item of queue.items({ signal })) {
        const atMs = Date.now()
        await item.complete()
        this.tell(`item ${item.value} ${atMs}`)
      }
    } catch (error) {
      if (!signal.aborted) this.tell(`failed ${String(error)}`)
    } finally {
      await queue.close()
    }
  }
}

function open(client: Client, kind: string, path: string): DelayQueue<string> | IdQueue<string> {
  return kind === 'delay'
    ? new DelayQueue(client, path, { codec: text })
    : new IdQueue(client, path, { codec: text })
}
