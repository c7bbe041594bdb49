import { isRefusal } from '@zabra/client'
import type { Stage } from '../stage.ts'
import type { Actor } from '../workload.ts'

interface Write {
  readonly kind: 'write'
  readonly value: number
  /** The version of the node in the answer. */
  version?: number
}

interface Read {
  readonly kind: 'read'
  readonly consistency: 'local' | 'session' | 'linearizable'
  seen?: number
}

const burstMax = 12

/**
 * A node that only one session writes, with increasing numbers. That makes every answer checkable:
 * earlier requests take effect earlier.
 */
export class Register {
  private readonly path: string
  private readonly asked: (Write | Read)[] = []
  private readonly stage: Stage
  private written = 0
  private isOver = false
  private isMade = false

  constructor(path: string, stage: Stage) {
    this.path = path
    this.stage = stage
  }

  /** The session has ended, and the node is deleted with it. */
  end(): void {
    this.isOver = true
  }

  /** Sends several requests at once; fails with the first error. */
  async burst({ client, chance, process }: Actor): Promise<void> {
    const calls: Promise<void>[] = []
    let failure: { readonly reason: unknown } | undefined
    const ask = (call: Promise<void>): void => {
      calls.push(call.catch((reason: unknown) => void (failure ??= { reason })))
    }
    if (!this.isMade) ask(this.make(client))
    const count = chance.between(1, burstMax)
    const pauseMsMax = chance.pick([0, 20, 150])
    for (let i = 0; i < count && !this.isOver; i++) {
      if (chance.chance(0.5)) ask(this.write(client))
      else ask(this.read(client, chance.pick(['local', 'session', 'linearizable'])))
      if (pauseMsMax > 0 && chance.chance(0.5)) await process.sleep(chance.next() * pauseMsMax)
    }
    await Promise.all(calls)
    if (failure !== undefined) throw failure.reason
  }

  check(): void {
    const { asked, path } = this
    let least = 0
    let version = -1
    for (const [i, call] of asked.entries()) {
      if (call.kind === 'write') {
        if (call.version === undefined) continue
        if (call.version <= version) this.violate(`writes overtook each other at ${path}`)
        version = call.version
        least = call.value
      } else if (call.seen !== undefined) {
        this.checkRead(call, call.seen, i, least)
      }
    }
  }

  private checkRead(read: Read, seen: number, place: number, least: number): void {
    const { asked, path } = this
    const told = `a read of ${path} shows ${seen}`
    if (seen < least) this.violate(`${told}, though ${least} was written before`)
    const later = asked.slice(place + 1)
    const overtaken = later.find((call) => call.kind === 'write' && call.version !== undefined)
    if (overtaken?.kind === 'write' && seen >= overtaken.value)
      this.violate(`${told}, though ${overtaken.value} was written later`)
    if (read.consistency !== 'session') return
    // A request sent earlier whose effect is not visible by now must never take effect.
    const before = asked.slice(0, place)
    const missing = new Set(
      before.flatMap((call) => (call.kind === 'write' && call.value > seen ? [call.value] : [])),
    )
    const late = later.find((call) => call.kind === 'read' && missing.has(call.seen ?? -1))
    if (late !== undefined)
      this.violate(`${told} (${read.consistency}), and a later one what was asked for before`)
  }

  private async make(client: Actor['client']): Promise<void> {
    try {
      await client.create(this.path, '0', { ephemeral: true })
      this.isMade = true
    } catch (error) {
      if (!isRefusal(error, 'nodeExists')) throw error
      this.isMade = true
    }
  }

  private async write(client: Actor['client']): Promise<void> {
    const write: Write = { kind: 'write', value: ++this.written }
    this.asked.push(write)
    try {
      write.version = (await client.set(this.path, `${write.value}`)).version
    } catch (error) {
      this.tolerate(error)
    }
  }

  private async read(client: Actor['client'], consistency: Read['consistency']): Promise<void> {
    const read: Read = { kind: 'read', consistency }
    this.asked.push(read)
    try {
      const { data } = await client.get(this.path, { consistency })
      read.seen = Number(new TextDecoder().decode(data))
    } catch (error) {
      this.tolerate(error)
    }
  }

  /** The node may be missing if the reply to its creation was lost. */
  private tolerate(error: unknown): void {
    if (this.isMade || !isRefusal(error, 'noNode')) throw error
  }

  private violate(what: string): void {
    this.stage.violate(what)
  }
}
