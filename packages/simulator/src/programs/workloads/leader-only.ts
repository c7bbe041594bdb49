import { TimeoutError, type Client } from '@zabra/client'
import { Election, LostError, type LossPolicy, type Term } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { GuardedLog } from './guarded-log.ts'
import { deleteFirst, drawLimits, leftBelow, sendLate, workUnder } from './holding.ts'
import { Rights } from './rights.ts'

const path = '/leader-only'
const logPath = '/log'

/** An error that the work itself sometimes throws. */
class WorkFailed extends Error {
  override readonly name = 'WorkFailed'
}

/** How a piece of work ended in one term. */
interface Ending {
  /** The value that it resolved to, or its rejection. */
  readonly result: unknown
  readonly hasFailed: boolean
  readonly wasHeld: boolean
}

/**
 * Work that only the leader does. Its terms are checked like any leadership. In addition, the work
 * of one call never overlaps with itself, and the call ends as the work did in a term that was
 * held.
 */
export class LeaderOnlyWorkload implements Workload {
  private readonly stage: Stage
  private readonly rights: Rights
  private readonly log: GuardedLog

  constructor(stage: Stage) {
    this.stage = stage
    this.rights = new Rights('the work of the leader', stage)
    this.log = new GuardedLog(logPath, stage)
  }

  async setUp(client: Client): Promise<void> {
    await this.log.setUp(client)
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance, name } = actor
    if (!stage.isHealed && chance.chance(0.05)) await deleteFirst(actor, stage, path)
    const lostOn = chance.pick(['suspended', 'expired'] as const)
    const limits = drawLimits(actor, stage)
    const call = new Call(actor, stage)
    limits.signal?.addEventListener('abort', () => call.toldToStop())
    const work = (term: Term, signal: AbortSignal): Promise<unknown> =>
      call.work(term, signal, () => this.lead(actor, term, signal, lostOn))
    try {
      call.resolved(await new Election(client, path, { id: name, lostOn }).run(work, limits))
    } catch (error) {
      call.rejected(error, limits.signal)
      if (!(error instanceof WorkFailed)) throw error
    }
  }

  unrest(): string | undefined {
    return leftBelow(this.stage, path)
  }

  check(): void {
    this.log.check()
  }

  mayStay(node: string): boolean {
    return node === logPath
  }

  /** The work of one term. */
  private async lead(
    actor: Actor,
    term: Term,
    signal: AbortSignal,
    lostOn: LossPolicy,
  ): Promise<void> {
    const { stage, rights, log } = this
    const { client, chance, name: holder } = actor
    stage.mutant?.held?.(term)
    const seenZxid = client.lastZxid
    rights.grant({ holder, held: term, sharing: 'alone', permits: 1, seenZxid })
    await workUnder(actor, stage, { path: term.path, signal }, lostOn, async () => {
      if (chance.chance(0.5)) await log.append(client, term)
      else sendLate(actor, stage, () => rights.use(holder, term, 'alone'))
    })
    if (!stage.isHealed && chance.chance(0.1)) throw new WorkFailed('the work went wrong')
  }
}

/** The state of one call of `Election.run`. */
class Call {
  private readonly actor: Actor
  private readonly stage: Stage
  /** The signal of the work in progress. */
  private signal: AbortSignal | undefined
  private terms = 0
  private last: Ending | undefined

  constructor(actor: Actor, stage: Stage) {
    this.actor = actor
    this.stage = stage
  }

  async work(term: Term, signal: AbortSignal, act: () => Promise<void>): Promise<unknown> {
    const { stage } = this
    if (this.signal !== undefined) this.violate('begins the work while it is at it')
    this.signal = signal
    if (++this.terms > 1) stage.count('work done again')
    const onLost = (): void => {
      const reason: unknown = term.signal.reason
      if (reason instanceof LostError && reason.reason === 'released')
        this.violate('gives back the leadership while it is at work')
    }
    term.signal.addEventListener('abort', onLost)
    const result = `done in term ${term.epoch}`
    try {
      await act()
      this.last = { result, hasFailed: false, wasHeld: !term.signal.aborted }
      return result
    } catch (error) {
      this.last = { result: error, hasFailed: true, wasHeld: !term.signal.aborted }
      throw error
    } finally {
      term.signal.removeEventListener('abort', onLost)
      this.signal = undefined
    }
  }

  /** The caller's signal has aborted. */
  toldToStop(): void {
    const { signal, actor } = this
    if (signal === undefined) return
    actor.process.defer(() => {
      if (!signal.aborted) this.violate('is at work, and is not told that it should stop')
    })
  }

  resolved(value: unknown): void {
    this.over()
    const { last, stage } = this
    stage.count('work of the leader done')
    if (last === undefined || last.hasFailed || last.result !== value)
      this.violate(`is told ${String(value)}, and its work ended as ${String(last?.result)}`)
    else if (!last.wasHeld) this.violate(`is told ${String(value)}, of a term that was lost`)
  }

  rejected(error: unknown, signal: AbortSignal | undefined): void {
    this.over()
    const { last } = this
    if (signal?.aborted === true && error === signal.reason) return
    if (last?.hasFailed === true && error === last.result) {
      if (!last.wasHeld) this.violate('is told of an error in a term that was lost')
    } else if (error instanceof TimeoutError && error.mayHaveHappened !== this.terms > 0)
      this.violate(`gives up after ${this.terms} terms, saying ${error.mayHaveHappened}`)
  }

  private over(): void {
    if (this.signal !== undefined) this.violate('is done with the work while it is at it')
  }

  private violate(what: string): void {
    this.stage.violate(`${this.actor.name} ${what}`)
  }
}
