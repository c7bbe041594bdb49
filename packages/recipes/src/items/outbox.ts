import { isRefusal, joinPath, text, type Client } from '@zabra/client'
import { makeGuid, onAbort } from '@zabra/client/internal'
import { ensureParent } from '../nodes/parents.ts'
import { sequenceMax } from '../nodes/sequence.ts'
import { Witness } from '../nodes/witness.ts'

/** A node to be made under the folder, its name followed by a number. */
export interface Letter {
  readonly name: string
  readonly data: Uint8Array
  readonly ephemeral: boolean
  readonly signal: AbortSignal
}

interface Waiting extends Letter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Servers refuse requests of a megabyte and more. */
const batchBytesMax = 256 * 1024
const batchMax = 200
/** What a letter takes of a request besides its path and data, at most: ACL, lengths, number. */
const letterBytesExtra = 128

/**
 * Makes sequential nodes, each once also where a reply is lost, in the order of asking. What comes
 * while a transaction is under way goes into the next one together.
 */
export class Outbox {
  private readonly client: Client
  private readonly folder: string
  private readonly folderBytes: number
  private readonly witness: Witness
  private readonly waiting: Waiting[] = []
  private sending: Promise<void> | undefined
  /** The counter of the folder has come to its end, and gives the same number to everybody. */
  private isCounterUsedUp = false

  constructor(client: Client, folder: string, witnesses: string) {
    this.client = client.patient
    this.folder = folder
    this.folderBytes = text.encode(client.chroot + folder).length
    this.witness = new Witness(client, witnesses)
  }

  post(letter: Letter): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...letter, resolve, reject })
      this.sending ??= this.sendAll()
    })
  }

  async close(): Promise<void> {
    await this.sending
    await this.witness.close()
  }

  private async sendAll(): Promise<void> {
    // What is posted in the same breath shares the first transaction.
    await Promise.resolve()
    for (let batch = this.nextBatch(); batch.length > 0; batch = this.nextBatch())
      await this.send(batch)
    // In the same breath as the last look: what is posted from now on is for the next one.
    this.sending = undefined
  }

  private nextBatch(): Waiting[] {
    const batch: Waiting[] = []
    let bytes = 0
    while (batch.length < batchMax) {
      const letter = this.waiting[0]
      if (letter === undefined) break
      bytes += this.bytesOf(letter)
      if (batch.length > 0 && bytes > batchBytesMax) break
      this.waiting.shift()
      if (letter.signal.aborted) letter.reject(letter.signal.reason)
      else batch.push(letter)
    }
    return batch
  }

  private bytesOf({ name, data }: Letter): number {
    return this.folderBytes + text.encode(name).length + data.length + letterBytesExtra
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const givenUp = whenAllGivenUp(batch)
    try {
      await this.sendTogether(batch, givenUp.signal)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      // Nothing of it happened. One alone may be to blame.
      if ((isRefusal(error) || error instanceof RangeError) && batch.length > 1) {
        for (const letter of batch) await this.send([letter])
        return
      }
      for (const { reject } of batch) reject(error)
    } finally {
      givenUp.stop()
    }
  }

  private async sendTogether(batch: readonly Waiting[], signal: AbortSignal): Promise<void> {
    for (;;) {
      const unique = makeGuid(() => this.client.host.random())
      try {
        await this.witness.commit((transaction) => {
          for (const [place, { name, data, ephemeral }] of batch.entries()) {
            const path = joinPath(this.folder, name)
            if (!this.isCounterUsedUp)
              transaction.create(path, data, { sequential: true, ephemeral })
            else transaction.create(beyondCounter(path, unique, place), data, { ephemeral })
          }
          return transaction
        }, signal)
        return
      } catch (error) {
        if (isRefusal(error, 'noNode')) {
          await ensureParent(this.client, this.folder, { signal })
          this.isCounterUsedUp = false
        } else if (isRefusal(error, 'nodeExists') && !this.isCounterUsedUp)
          this.isCounterUsedUp = true
        else throw error
      }
    }
  }
}

/** Nobody waits for the batch any more: whoever comes next shall not wait for it either. */
function whenAllGivenUp(batch: readonly Letter[]) {
  const controller = new AbortController()
  let left = batch.length
  const stops = batch.map(({ signal }) =>
    onAbort(signal, (reason) => {
      if (--left === 0) controller.abort(reason)
    }),
  )
  const stop = (): void => {
    for (const undo of stops) undo()
  }
  return { signal: controller.signal, stop }
}

/** What is made by one transaction has one zxid; the place in it tells the order. */
function beyondCounter(path: string, unique: string, place: number): string {
  return `${path}${sequenceMax}-${unique}-${String(place).padStart(3, '0')}`
}

/**
 * What stands behind such a name: the number, which tells the order if it is less than the last,
 * and the place in the transaction, where it was made when the counter had come to its end.
 */
export function numberOf(
  rest: string,
): { sequence: number; place: number | undefined } | undefined {
  const match = /^(-?\d{9,10})(?:-[0-9a-f-]{36}-(\d{3}))?$/.exec(rest)
  if (match === null) return undefined
  return {
    sequence: Number(match[1]),
    place: match[2] === undefined ? undefined : Number(match[2]),
  }
}
