import { joinPath, nodeName, retry, settle, type CallOptions, type Client } from '@zabra/client'
import { checkPath, makeGuid } from '@zabra/client/internal'
import { HeldByNode, LostError, policyOf, type Held, type HoldOptions } from './holding/held.ts'
import { deleteOwn } from './nodes/give-back.ts'
import { limited } from './waiting/limits.ts'
import { sequenceMax, sequenceOf } from './nodes/sequence.ts'
import { TurnLock } from './turns/turn-lock.ts'
import { checkedOptions, holdNames, type Line, type LockOptions } from './turns/turn.ts'

/** Curator's and ours, kazoo's. */
const readerMarks = ['__READ__', '__rlock__']
export const writerMarks = ['__WRIT__', '__lock__']

const numbersLeftMin = 1_000_000

/**
 * Many readers at a time, or one writer, in the order of calls: a reader waits for the last writer
 * before it, a writer for everybody before it. The layout is that of Curator's
 * InterProcessReadWriteLock; kazoo's read and write locks on the same path count as well.
 *
 *     const lock = new ReadWriteLock(client, '/locks/catalogue')
 *     await using reading = await lock.read.acquire({ timeoutMs: 5000 })
 */
export class ReadWriteLock {
  /** For readers: shared with other readers. */
  readonly read: TurnLock
  /** For a writer, alone. */
  readonly write: TurnLock
  private readonly client: Client
  private readonly path: string
  private readonly options: LockOptions

  constructor(client: Client, path: string, options: LockOptions = {}) {
    this.client = client.patient
    this.path = checkPath(path)
    this.options = checkedOptions(client, 'ReadWriteLock', options)
    this.read = new TurnLock(client, readerLine(path), this.options)
    this.write = new TurnLock(client, writerLine(path), this.options)
  }

  /**
   * Turns a held write lock into a read lock in one step: no other writer comes in between, and
   * waiting readers come in. The write lock counts as released, and the read lock keeps its token.
   * If this rejects, no read lock is left behind.
   *
   *     const lock = new ReadWriteLock(client, '/locks/catalogue')
   *     await using writing = await lock.write.acquire()
   *     await using reading = await lock.downgrade(writing)
   */
  downgrade(writing: Held, options: CallOptions & HoldOptions = {}): Promise<Held> {
    const { client, path } = this
    const lostOn = policyOf(options, this.options)
    const act = async (signal: AbortSignal): Promise<Held> => {
      const own = placeOf(path, writing)
      const holder = writing as HeldByNode
      const guid = makeGuid(() => client.host.random())
      const node = joinPath(path, `_c_${guid}-__READ__${own}`)
      const { id = '', acl } = this.options
      const look = () => client.exists(node, { signal, consistency: 'session' })
      const exchange = async () => {
        // The place in the line is in the name, so the reader keeps that of the writer.
        const swap = writing.guard(client.transaction())
        const [made] = await swap
          .create(node, id, { ephemeral: true, acl })
          .delete(writing.path)
          .commit({ signal })
        // Servers before ZooKeeper 3.5 do not return it. A failure of this read must not repeat the
        // swap.
        return made.stat ?? retry(client, look, { signal })
      }
      try {
        const stat = await holder.handOn(async () => {
          const made = await settle(client, exchange, { signal, look })
          if (made !== undefined) await writing.release()
          return made
        })
        if (stat === undefined) throw new LostError('deleted', node)
        // The token is that of the place: a writer that waits behind it has a larger one.
        return new HeldByNode(client, { path: node, stat, token: writing.token }).judgeBy(lostOn)
      } catch (error) {
        // The swap may have happened, or happen later, and nobody would release the reader.
        deleteOwn(client, node, holder.sessionId).catch(() => {})
        throw error
      }
    }
    return limited(client, options, act, true, { path, what: 'not downgraded', names: holdNames })
  }
}

/** The number of a holder's node, which is its place in the line. */
function placeOf(parent: string, held: Held): string {
  const { path, signal } = held
  signal.throwIfAborted()
  const name = nodeName(path)
  const isOwn = path === joinPath(parent, name)
  const mark = writerMarks.find((one) => sequenceOf(name, one) !== undefined)
  if (!(held instanceof HeldByNode) || !isOwn || mark === undefined)
    throw new TypeError(`not a write lock of ${parent}: ${path}`)
  const sequence = sequenceOf(name, mark)!
  // After the last number the zxids tell the order, and that of the reader would be too late. Those
  // that queue up behind it need numbers too.
  if (sequence < 0 || sequence > sequenceMax - numbersLeftMin)
    throw new RangeError(`the numbers of ${parent} are used up: release, and acquire again`)
  return String(sequence).padStart(10, '0')
}

export function readerLine(parent: string): Line {
  return {
    parent,
    name: '__READ__',
    marks: [...readerMarks, ...writerMarks],
    blockerOf: (ahead) => ahead.findLast(({ mark }) => writerMarks.includes(mark)),
  }
}

export function writerLine(parent: string): Line {
  return {
    parent,
    name: '__WRIT__',
    marks: [...readerMarks, ...writerMarks],
    blockerOf: (ahead) => ahead.at(-1),
  }
}
