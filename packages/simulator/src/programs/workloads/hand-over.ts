import { isRefusal, type Client } from '@zabra/client'
import { LostError, SessionHandOver, type Held } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { leftBelow } from './holding.ts'
import { Rights } from './rights.ts'

const folder = '/handed'
const path = `${folder}/right`
const logPath = '/handed-log'
const attemptMsMax = 50
/** Of the same size as sessions. */
const lateMsMax = 12_000

/**
 * A right that goes from one process to the next with its session: the node does not change
 * meanwhile, nobody else gets the right, and the next process does not take what is not its own.
 */
export class HandOverWorkload implements Workload {
  private readonly stage: Stage
  private readonly log: GuardedLog
  private readonly rights: Rights

  constructor(stage: Stage) {
    this.stage = stage
    this.log = new GuardedLog(logPath, stage)
    this.rights = new Rights('the right that is handed over', stage)
  }

  async setUp(client: Client): Promise<void> {
    await client.create(folder)
    await this.log.setUp(client)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const isQuiet = stage.isHealed
    const first = actor.connect()
    let next: Client | undefined
    try {
      const token = await this.take(actor, first)
      if (token === undefined) return
      const ticket = await new SessionHandOver(first).write()
      if (ticket === undefined) return
      stage.count('sessions detached')
      const session = SessionHandOver.read(ticket)
      if (session === undefined) {
        stage.violate(`${actor.name} cannot read the ticket ${ticket}`)
        return
      }
      // The next process needs a while to start; sometimes longer than the session lasts.
      const { chance, process } = actor
      const isLate = !stage.isHealed && chance.chance(0.3)
      await process.sleep(chance.next() * (isLate ? lateMsMax : 20))
      next = actor.connect(session)
      // In a new session, if that of the ticket has expired.
      await next.connected({ timeoutMs: Infinity })
      await this.goOn(actor, next, { token, isQuiet })
    } finally {
      await Promise.all([first.close(), next?.close()])
    }
  }

  unrest(): string | undefined {
    return leftBelow(this.stage, folder)
  }

  check(): void {
    this.log.check()
  }

  mayStay(node: string): boolean {
    return node === folder || node.startsWith(logPath)
  }

  /** Creates the node that is the right, and uses it; undefined if somebody else has it. */
  private async take(
    { name, process, chance }: Actor,
    client: Client,
  ): Promise<bigint | undefined> {
    const { stage } = this
    try {
      const { stat } = await client.create(path, name, { ephemeral: true })
      stage.trace(`${name} has taken the right with ${stat.czxid}`)
      return stat.czxid
    } catch (error) {
      if (!isRefusal(error, 'nodeExists')) throw error
      await process.sleep(chance.next() * attemptMsMax)
      return undefined
    }
  }

  private async goOn(
    actor: Actor,
    client: Client,
    { token, isQuiet }: { readonly token: bigint; readonly isQuiet: boolean },
  ): Promise<void> {
    const { stage } = this
    const { name } = actor
    let held: Held
    try {
      held = await new SessionHandOver(client).adopt(path)
    } catch (error) {
      if (!(error instanceof LostError)) throw error
      if (isQuiet)
        stage.violate(`nothing is wrong, and ${name} loses its right to the next process`)
      stage.count('sessions not handed over')
      return
    }
    stage.mutant?.held?.(held)
    if (held.token !== token)
      stage.violate(`${name} goes on with ${held.token}, and had the right with ${token}`)
    stage.count('sessions handed over')
    this.rights.grant({
      holder: name,
      held,
      sharing: 'alone',
      permits: 1,
      seenZxid: client.lastZxid,
    })
    try {
      await this.log.append(client, held)
    } finally {
      await held.release()
    }
  }
}
