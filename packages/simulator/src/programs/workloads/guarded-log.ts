import { isRefusal, type Client } from '@zabra/client'
import { decodeText } from '@zabra/protocol'
import { LostError, type Held } from '@zabra/recipes'
import type { Stage } from '../stage.ts'

/**
 * A node with a list that grows by read and write, protected only by the guard of the current
 * holder: no entry may be lost, and the entries of each holder are contiguous.
 */
export class GuardedLog {
  private readonly path: string
  private readonly stage: Stage
  private readonly written = new Set<string>()
  private count = 0

  constructor(path: string, stage: Stage) {
    this.path = path
    this.stage = stage
  }

  setUp(client: Client): Promise<unknown> {
    return client.create(this.path, '')
  }

  /** Uses the token of one part of what is held, if it has parts. */
  async append(client: Client, held: Held, { token }: Held = held): Promise<void> {
    const { data } = await client.get(this.path)
    const entry = `${token}:${++this.count}`
    const list = [...entriesOf(decodeText(data)), entry].join(' ')
    try {
      await held.guard(client.transaction().set(this.path, list)).commit()
      this.written.add(entry)
      this.stage.count('guarded writes')
    } catch (error) {
      if (!(error instanceof LostError) && !isRefusal(error, 'noNode', 'badVersion')) throw error
      this.stage.count('guarded writes refused')
    }
  }

  check(): void {
    const { stage, path } = this
    const entries = entriesOf(stage.tree()?.get(path)?.data ?? '')
    if (new Set(entries).size < entries.length) stage.violate(`${path} has an entry twice`)
    const lost = [...this.written].filter((entry) => !entries.includes(entry))
    if (lost.length > 0) stage.violate(`${path} has lost ${lost.join()}: ${entries.join()}`)
    let before = 0n
    for (const entry of entries) {
      const token = BigInt(entry.split(':')[0]!)
      if (token < before) stage.violate(`${path} has ${entry} behind ${before}`)
      before = token
    }
  }
}

function entriesOf(text: string): string[] {
  return text.split(' ').filter((entry) => entry !== '')
}
