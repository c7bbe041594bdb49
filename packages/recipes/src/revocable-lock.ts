import {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  joinPath,
  text,
  ZabraError,
  type CallOptions,
  type Client,
  type Data,
} from '@zabra/client'
import { checkPath, markErrorKind, guarded } from '@zabra/client/internal'
import { untilChanged } from './waiting/until-changed.ts'
import type { Contender } from './turns/contenders.ts'
import type { Held, HeldByNode } from './holding/held.ts'
import { limited, orAborted, underAll } from './waiting/limits.ts'
import type { AcquireOptions } from './turns/turn-lock.ts'
import { persist } from './nodes/node.ts'
import { readerLine, writerLine, writerMarks } from './read-write-lock.ts'
import { runHeld } from './holding/run-held.ts'
import { checkedOptions, takeTurn, type Line, type LockOptions, type Wait } from './turns/turn.ts'

/** The data that Curator's Revoker writes as well. */
const revokeWord = '__REVOKE__'
const refusedWord = '__REFUSED__'

/** A lock that others may ask for. */
export interface RevocableHeld extends Held {
  /**
   * Refuses the request, over the next connection if this one is lost. Does nothing if nobody has
   * asked, or nothing is left to refuse.
   *
   *     await using held = await printer.write.acquire({ onAsked: (asked) => asked.refuse() })
   */
  refuse(options?: CallOptions): Promise<void>
}

export interface RevocableOptions extends AcquireOptions {
  /** Called each time somebody asks for the lock: release it, or refuse, or be removed. */
  readonly onAsked?: ((held: RevocableHeld) => void) | undefined
  /** Ask the current holders to release it; otherwise wait as for any lock. */
  readonly revoke?: RevokeOptions | boolean | undefined
}

export interface RevokeOptions {
  /**
   * A holder that does not release the lock within this time of being asked is removed. Off by
   * default.
   */
  readonly removeAfterMs?: number | undefined
  /** Includes holders that have refused. */
  readonly evenIfRefused?: boolean | undefined
  /** After a refusal: wait nevertheless, by default, or reject with a RefusedError. */
  readonly ifRefused?: 'wait' | 'reject' | undefined
}

/**
 * The holder was asked to release something, and refuses.
 *
 *     if (error instanceof RefusedError) console.log('the holder keeps the lock')
 */
export class RefusedError extends ZabraError {
  static {
    markErrorKind(this, 'RefusedError')
  }
  override readonly name = 'RefusedError'
  readonly code = 'refused'
  readonly retriable = false

  constructor(path: string) {
    super(`the holder refuses to release it: ${path}`, { path })
  }
}

/**
 * A read/write lock whose holders can be asked to release it. The request and the refusal are the
 * data of the holder's node; the request is that of Curator's Revoker. On the same path as a
 * ReadWriteLock it is the same lock.
 *
 *     const lock = new RevocableLock(client, '/locks/printer')
 *     const held = await lock.write.acquire({ onAsked: (asked) => asked.release() })
 */
export class RevocableLock {
  /** For readers: shared with other readers. */
  readonly read: RevocableSide
  /** For a writer, alone. */
  readonly write: RevocableSide

  constructor(client: Client, path: string, options: LockOptions = {}) {
    const parent = checkPath(path)
    const checked = checkedOptions(client, 'RevocableLock', options)
    this.read = new RevocableSide(client, readerLine(parent), checked)
    this.write = new RevocableSide(client, writerLine(parent), checked)
  }
}

/** One side of a revocable lock. */
export class RevocableSide {
  private readonly client: Client
  private readonly line: Line
  private readonly options: LockOptions

  constructor(client: Client, line: Line, options: LockOptions) {
    this.client = client.patient
    this.line = line
    this.options = options
  }

  /**
   * Waits until it is held; with `revoke`, asks the holders to release it.
   *
   *     await using held = await printer.write.acquire({ onAsked: (asked) => asked.release() })
   */
  async acquire(options: RevocableOptions = {}): Promise<RevocableHeld> {
    const { client, line } = this
    const { revoke = false, onAsked, ...turn } = options
    const asking = new Asking(client, line.parent, revoke === true ? {} : revoke || {})
    const wait = (blocked: Wait): Promise<void> => asking.wait(blocked)
    const ownLine = revoke === false ? line : { ...line, wait }
    const held = await takeTurn(client, ownLine, this.options, turn)
    return answering(client, held, onAsked)
  }

  /**
   * Like `Lock.run`.
   *
   *     await printer.read.run((held) => print({ signal: held.signal }), { timeoutMs: 5000 })
   */
  run<T>(
    work: (held: RevocableHeld) => Promise<T> | T,
    options: RevocableOptions = {},
  ): Promise<T> {
    return runHeld(() => this.acquire(options), work)
  }
}

/** The current holders ahead: the first writer, or all readers before it. */
function holdersOf(ahead: readonly Contender[]): readonly Contender[] {
  const firstWriter = ahead.findIndex(({ mark }) => writerMarks.includes(mark))
  if (firstWriter < 0) return ahead
  return ahead.slice(0, Math.max(1, firstWriter))
}

/** Asks the holders, each once, and removes them when their time is over. */
class Asking {
  private readonly client: Client
  private readonly path: string
  private readonly options: RevokeOptions
  /** When each holder was asked, by name, once that is known. */
  private readonly askedAtMs = new Map<string, Promise<number>>()

  constructor(client: Client, path: string, options: RevokeOptions) {
    this.client = client.patient
    this.path = path
    this.options = options
  }

  /**
   * Resolves when something has changed: a holder is gone or has answered, or the blocker is gone.
   */
  async wait({ client, ahead, blocker, signal }: Wait): Promise<void> {
    const first = new AbortController()
    try {
      await underAll([signal, first.signal], (either) => {
        const holders = holdersOf(ahead).map(({ name }) => this.urge(name, signal, either))
        const gone = untilChanged(client, joinPath(this.path, blocker.name), either)
        return Promise.race([...holders, gone])
      })
    } finally {
      first.abort()
    }
  }

  /** The request is sent even if the caller stops waiting for this holder before the reply. */
  private async urge(name: string, asking: AbortSignal, signal: AbortSignal): Promise<void> {
    const path = joinPath(this.path, name)
    const { removeAfterMs, evenIfRefused = false, ifRefused } = this.options
    try {
      const askedAtMs = await orAborted(this.ask(name, path, asking), signal)
      const { data, stat } = await this.client.get(path, { codec: text, signal })
      const isRefused = data === refusedWord
      if (isRefused && ifRefused === 'reject') throw new RefusedError(path)
      const isMortal = removeAfterMs !== undefined && (!isRefused || evenIfRefused)
      const leftMs = isMortal ? askedAtMs + removeAfterMs - this.client.nowMs() : undefined
      if (leftMs !== undefined && leftMs <= 0)
        await this.client.delete(path, { ifVersion: stat.version, signal })
      else await this.untilChangedOrLate(path, stat.version, leftMs, signal)
    } catch (error) {
      // It is gone, or has just answered.
      if (!isRefusal(error, 'noNode', 'badVersion')) throw error
    }
  }

  private ask(name: string, path: string, signal: AbortSignal): Promise<number> {
    const before = this.askedAtMs.get(name)
    if (before !== undefined) return before
    const asked = this.client.set(path, revokeWord, { signal }).then(() => this.client.nowMs())
    this.askedAtMs.set(name, asked)
    asked.catch(() => this.askedAtMs.delete(name))
    return asked
  }

  private async untilChangedOrLate(
    path: string,
    version: number,
    leftMs: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const isSame = ({ stat }: Data): boolean => stat.version === version
    if (leftMs === undefined) return untilChanged(this.client, path, signal, isSame)
    const late = new AbortController()
    const cancel = this.client.host.timer(leftMs, () => late.abort())
    try {
      await underAll([signal, late.signal], (either) =>
        untilChanged(this.client, path, either, isSame),
      )
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error
    } finally {
      cancel()
    }
  }
}

/** Receives requests, and can refuse them. */
function answering(
  client: Client,
  held: HeldByNode,
  onAsked: ((held: RevocableHeld) => void) | undefined,
): RevocableHeld {
  let askedVersion = 0
  const refuse = (options: CallOptions = {}): Promise<void> => {
    const ifVersion = askedVersion
    const answer = async (signal: AbortSignal): Promise<void> => {
      if (ifVersion === 0) return
      const say = () => client.set(held.path, refusedWord, { ifVersion, signal })
      try {
        await persist(client, signal, say)
      } catch (error) {
        // Nothing is left to refuse, it was refused before, or there is a newer request.
        const isNeedless = error instanceof ClosedError || isRefusal(error, 'noNode', 'badVersion')
        if (!isNeedless) throw error
      }
    }
    return limited(client, options, answer, true, { path: held.path, what: 'not refused' })
  }
  const revocable = Object.assign(held, { refuse })
  const hear = ({ data, stat }: Data): boolean => {
    if (stat.version > askedVersion && text.decode(data) === revokeWord) {
      askedVersion = stat.version
      guarded(client.host, () => onAsked?.(revocable))
    }
    return true
  }
  void listen(client, held, hear)
  return revocable
}

async function listen(
  client: Client,
  { path, signal }: Held,
  hear: (node: Data) => boolean,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await untilChanged(client, path, signal, hear)
    } catch (error) {
      if (!(error instanceof ConnectionLossError)) return
    }
  }
}
