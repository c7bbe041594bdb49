import { isRefusal, joinPath, text, type CallOptions, type Client } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { childrenAndWait, untilChanged, untilThere } from './waiting/until-changed.ts'
import { contendersAmong, lineUpIfAny, type Contender } from './turns/contenders.ts'
import type { Held } from './holding/held.ts'
import { persist } from './nodes/node.ts'
import { limited, orAborted, underAll } from './waiting/limits.ts'
import {
  checkedOptions,
  takeTurn,
  type Line,
  type LockOptions,
  type TurnOptions,
} from './turns/turn.ts'

/** A leader, or a candidate. */
export interface Candidate {
  readonly id: string
  /** The epoch of its current or future term: it grows from one leader to the next. */
  readonly epoch: bigint
  readonly path: string
}

/** A leadership, until it is released or lost. Its epoch is its fencing token. */
export interface Term extends Held, Candidate {}

/**
 * One leader at a time, in the order in which they came. The layout is that of Curator's
 * LeaderLatch.
 *
 *     const election = new Election(client, '/scheduler')
 *     await election.run(async (term, signal) => schedule(term, signal))
 */
export class Election {
  private readonly client: Client
  private readonly line: Line
  private readonly options: LockOptions

  constructor(client: Client, path: string, options: LockOptions = {}) {
    this.client = client.patient
    this.options = checkedOptions(client, 'Election', options)
    this.line = {
      parent: checkPath(path),
      name: 'latch-',
      marks: ['latch-'],
      blockerOf: (ahead) => ahead.at(-1),
      late: 'not elected',
    }
  }

  /**
   * Waits until elected.
   *
   *     await using term = await election.campaign({ timeoutMs: 60_000 })
   *     await term.guard(nextStep()).commit()
   */
  async campaign(options: TurnOptions = {}): Promise<Term> {
    const held = await takeTurn(this.client, this.line, this.options, options)
    return Object.assign(held, { epoch: held.token, id: this.options.id ?? '' })
  }

  /**
   * Work that only the leader does. Waits to be elected and calls the work. When the leadership is
   * lost, the work's signal aborts; after the work has ended, it is called again in the next term.
   * Resolves to the result of the work in a term that was held all along. When the caller's signal
   * aborts, so does the work's, and the leadership is given back only after the work has ended.
   * `timeoutMs` limits each wait to be elected; the TimeoutError says whether the work had begun in
   * an earlier term.
   *
   *     await election.run(async (term, signal) => {
   *       while (!signal.aborted) await term.guard(nextStep()).commit()
   *     }, { signal: shuttingDown })
   */
  async run<T>(
    work: (term: Term, signal: AbortSignal) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    const { client } = this
    const { signal } = options
    let before: Term | undefined
    const next = async (either: AbortSignal): Promise<Term> => {
      if (before !== undefined) await orAborted(before.release(), either)
      return this.campaign({ signal: either, requeue: true })
    }
    for (;;) {
      const hasBegun = before !== undefined
      const subject = { path: this.line.parent, what: 'not elected' }
      const term = await limited(client, options, next, hasBegun, subject)
      const signals = signal === undefined ? [term.signal] : [term.signal, signal]
      const outcome = await underAll(signals, (either) => settled(() => work(term, either)))
      if (!term.signal.aborted) {
        await term.release()
        return resultOf(outcome, signal)
      }
      // In the background: the caller may stop waiting before there is a connection.
      term.release().catch(() => {})
      before = term
    }
  }

  /**
   * The present leader, as far as this client's server knows.
   *
   *     const leader = await election.leader()
   *     console.log(leader?.id ?? 'nobody leads')
   */
  leader(options: CallOptions = {}): Promise<Candidate | undefined> {
    return this.limited(options, async (signal) => {
      for (;;) {
        const [first] = await this.lineUp(signal)
        if (first === undefined) return undefined
        const leader = await this.read(first.name, signal)
        if (leader !== undefined) return leader
      }
    })
  }

  /**
   * The leader and the candidates, in order.
   *
   *     for (const { id, epoch } of await election.candidates()) console.log(id, epoch)
   */
  candidates(options: CallOptions = {}): Promise<Candidate[]> {
    return this.limited(options, async (signal) => {
      const all = await this.lineUp(signal)
      const read = await Promise.all(all.map(({ name }) => this.read(name, signal)))
      return read.filter((candidate) => candidate !== undefined)
    })
  }

  /**
   * The leader: first the current one, then every change; undefined without a leader. A leader that
   * is replaced quickly may be skipped, the current one never is. It survives lost connections and
   * sessions, and rejects when the signal aborts or the client is closed.
   *
   *     for await (const leader of election.leaders({ signal })) console.log(leader?.id ?? 'nobody')
   */
  async *leaders(
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Candidate | undefined, never, undefined> {
    let known: { readonly leader: Candidate | undefined } | undefined
    for (;;) {
      const before = known
      const leader = await persist(this.client, options.signal, () =>
        limited(this.client, options, (signal) =>
          before === undefined ? this.leader({ signal }) : this.next(before.leader, signal),
        ),
      )
      known = { leader }
      if (before === undefined || leader?.epoch !== before.leader?.epoch) yield leader
    }
  }

  private limited<T>(options: CallOptions, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return limited(this.client, options, act, false, { path: this.line.parent })
  }

  /** Waits while this one leads. */
  private async next(
    before: Candidate | undefined,
    signal: AbortSignal,
  ): Promise<Candidate | undefined> {
    if (before !== undefined) await untilChanged(this.client, before.path, signal)
    else await this.untilAny(signal)
    return this.leader({ signal })
  }

  private async untilAny(signal: AbortSignal): Promise<void> {
    const { parent, marks } = this.line
    try {
      const isNobody = (names: readonly string[]): boolean =>
        contendersAmong(names, marks).length === 0
      await childrenAndWait(this.client, parent, signal, isNobody)
    } catch (error) {
      if (!isRefusal(error, 'noNode')) throw error
      await untilThere(this.client, parent, signal)
    }
  }

  private lineUp(signal: AbortSignal): Promise<Contender[]> {
    return lineUpIfAny(this.client, this.line.parent, this.line.marks, { signal })
  }

  private async read(name: string, signal: AbortSignal): Promise<Candidate | undefined> {
    const path = joinPath(this.line.parent, name)
    const found = await this.client.find(path, { signal, codec: text })
    return found && { id: found.data, epoch: found.stat.czxid, path }
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

async function settled<T>(act: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await act() }
  } catch (error) {
    return { error }
  }
}

function resultOf<T>(outcome: Outcome<T>, signal: AbortSignal | undefined): T {
  if ('value' in outcome) return outcome.value
  throw signal?.aborted === true ? signal.reason : outcome.error
}
