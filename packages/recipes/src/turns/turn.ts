import {
  ClosedError,
  ConnectionLossError,
  joinPath,
  SessionExpiredError,
  type Acl,
  type CallOptions,
  type Client,
} from '@zabra/client'
import { checkOptionNames } from '@zabra/client/internal'
import { untilChanged } from '../waiting/until-changed.ts'
import { lineUp, lineUpIfAny, type Contender } from './contenders.ts'
import { HeldByNode, LostError, policyOf, type HoldOptions } from '../holding/held.ts'
import { limited, underAll } from '../waiting/limits.ts'
import { below } from '../nodes/parents.ts'

/**
 * A line of ephemeral sequential nodes under one parent, in which each waits for some of those
 * ahead.
 */
export interface Line {
  readonly parent: string
  /** The prefix of our own node's name. */
  readonly name: string
  /** The prefixes of all contenders that count, including those of other clients. */
  readonly marks: readonly string[]
  /** The last of those ahead to wait for: nobody else needs to be watched. */
  readonly blockerOf: (ahead: readonly Contender[]) => Contender | undefined
  /** The error text if the turn does not come in time; `not acquired` by default. */
  readonly late?: string | undefined
  /** Waits for a change of the blocker; by default until it is deleted. */
  readonly wait?: (wait: Wait) => Promise<void>
}

export interface Wait {
  readonly client: Client
  readonly blocker: Contender
  readonly ahead: readonly Contender[]
  readonly signal: AbortSignal
}

/** Options for every node that is created here. */
export interface LockOptions extends HoldOptions {
  /**
   * The data of the node, which tells people who queues here. The host and the process, by default.
   */
  readonly id?: string | undefined
  /** The ACL of the nodes, including missing parents. Everybody may do everything, by default. */
  readonly acl?: readonly Acl[] | undefined
}

const optionNames: Readonly<Record<keyof LockOptions, true>> = { id: true, acl: true, lostOn: true }
export const holdNames = { lostOn: true } as const
export const turnNames = { lostOn: true, requeue: true } as const

/**
 * The options with their defaults. A mistake is refused when the recipe is made, not when it waits.
 */
export function checkedOptions<Options extends LockOptions>(
  { host }: Client,
  recipe: string,
  options: Options,
): Options {
  checkOptionNames(recipe, options, optionNames)
  policyOf(options)
  return { ...options, id: options.id ?? host.processName ?? '' }
}

export interface TurnOptions extends CallOptions, HoldOptions {
  /** If the session expires while waiting, queue again at the end; by default that rejects. */
  readonly requeue?: boolean | undefined
}

/** Queues up and waits for the turn. Giving up leaves the line. */
export async function takeTurn(
  { patient: client }: Client,
  line: Line,
  own: LockOptions,
  options: TurnOptions,
): Promise<HeldByNode> {
  const lostOn = policyOf(options, own)
  const place = await takePlace(client, line, own, options)
  return place.judgeBy(lostOn)
}

/**
 * The same, while a lost connection does not matter yet: more is needed before the right is held.
 */
export function takePlace(
  { patient: client }: Client,
  line: Line,
  own: LockOptions,
  options: TurnOptions,
): Promise<HeldByNode> {
  const wait = async (signal: AbortSignal): Promise<HeldByNode> => {
    policyOf(options, own)
    for (;;) {
      try {
        return await queueOnce(client, line, own, signal)
      } catch (error) {
        if (!(error instanceof SessionExpiredError) || options.requeue !== true) throw error
        if (client.state.name === 'closed') throw error
      }
    }
  }
  const { parent: path, late: what = 'not acquired' } = line
  return limited(client, options, wait, false, { path, what, names: turnNames })
}

/** Takes the turn if nobody has to be waited for. */
export function tryTurn(
  { patient: client }: Client,
  line: Line,
  own: LockOptions,
  options: TurnOptions,
): Promise<HeldByNode | undefined> {
  const attempt = async (signal: AbortSignal): Promise<HeldByNode | undefined> => {
    const lostOn = policyOf(options, own)
    if (
      line.blockerOf(await lineUpIfAny(client, line.parent, line.marks, { signal })) !== undefined
    )
      return undefined
    const place = await enterLine(client, line, own, signal)
    try {
      const { blocker } = await look(client, line, place, signal)
      if (blocker === undefined) return place.judgeBy(lostOn)
      place.release().catch(() => {})
      return undefined
    } catch (error) {
      throw await abandon(client, place, error, signal)
    }
  }
  return limited(client, options, attempt, false, { path: line.parent, names: holdNames })
}

async function queueOnce(
  client: Client,
  line: Line,
  own: LockOptions,
  signal: AbortSignal,
): Promise<HeldByNode> {
  const place = await enterLine(client, line, own, signal)
  try {
    await underAll([signal, place.signal], (either) => untilFirst(client, line, place, either))
    return place
  } catch (error) {
    throw await abandon(client, place, error, signal)
  }
}

/** A place in the line survives a lost connection, as long as the session does. */
async function enterLine(
  client: Client,
  { parent, name }: Line,
  { id = '', acl }: LockOptions,
  signal: AbortSignal,
): Promise<HeldByNode> {
  const options = { ephemeral: true, sequential: true, protect: true, acl, signal }
  const create = () => client.create(joinPath(parent, name), id, options)
  return new HeldByNode(client, await below(client, parent, { signal, acl }, create))
}

async function untilFirst(
  client: Client,
  line: Line,
  place: HeldByNode,
  signal: AbortSignal,
): Promise<void> {
  const wait = line.wait ?? untilBlockerGone(line.parent)
  for (;;) {
    if (signal.aborted) throw signal.reason
    try {
      const { blocker, ahead } = await look(client, line, place, signal)
      // A turn that comes in the moment of a lost connection would be lost at once.
      if (blocker === undefined && client.state.name === 'connected') return
      if (blocker !== undefined) await wait({ client, blocker, ahead, signal })
    } catch (error) {
      // The place still exists; the state is read again over the next connection.
      if (!(error instanceof ConnectionLossError)) throw error
    }
  }
}

function untilBlockerGone(parent: string): (wait: Wait) => Promise<void> {
  return ({ client, blocker, signal }) =>
    untilChanged(client, joinPath(parent, blocker.name), signal)
}

async function look(
  client: Client,
  { parent, marks, blockerOf }: Line,
  place: HeldByNode,
  signal: AbortSignal,
): Promise<{ blocker: Contender | undefined; ahead: Contender[] }> {
  const all = await lineUp(client, parent, marks, { signal })
  const own = all.findIndex(({ name }) => place.path.endsWith(`/${name}`))
  if (own < 0) throw new LostError('deleted', place.path)
  const ahead = all.slice(0, own)
  return { blocker: blockerOf(ahead), ahead }
}

/** Leaves the line in the background: the caller need not wait for a connection. */
function abandon(
  client: Client,
  place: HeldByNode,
  error: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const told = waiterError(client, place, error, signal)
  place.release().catch(() => {})
  return told
}

/** The error for a caller that only had a place. */
export async function waiterError(
  client: Client,
  place: HeldByNode,
  error: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { path, sessionId } = place
  const loss: unknown = place.signal.reason ?? error
  if (!(loss instanceof LostError)) return error
  if (loss.reason === 'closed') return new ClosedError({ path })
  if (loss.reason === 'deleted') {
    // With a session the nodes go first, then the connection, so asking tells which it is.
    const answer = await client.exists(path, { signal }).catch((reason: unknown) => reason)
    if (answer instanceof ClosedError) return answer
  }
  return client.session?.id === sessionId ? error : new SessionExpiredError(false, { path })
}
