import { isRefusal, type Client, type Stat } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { joinPath } from './paths.ts'

/** A node as a walk finds it. */
export interface WalkedNode {
  readonly path: string
  /** 0 where the walk begins. */
  readonly depth: number
  /** Undefined where the identities of this client may not even know it. */
  readonly stat: Stat | undefined
  /** In order of their names. */
  readonly children: readonly string[]
  /** The identities of this client may not list its children. */
  readonly isHidden: boolean
}

export interface WalkOptions {
  readonly depthMax?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** A node to leave out, with everything below it. */
  readonly skip?: ((path: string) => boolean) | undefined
}

/** How many requests are on their way at a time. */
const inFlightMax = 256

/**
 * A node and everything below it, parents before children, siblings in order of their names. Reads
 * ahead, so that a large tree takes one round trip for many nodes. A node that goes away meanwhile
 * is left out; the first one must exist.
 */
export async function* walk(
  client: Client,
  top: string,
  { depthMax = Infinity, signal, skip }: WalkOptions = {},
): AsyncGenerator<WalkedNode, void, undefined> {
  interface Pending {
    readonly path: string
    readonly depth: number
    reading: Promise<WalkedNode | undefined> | undefined
  }
  // A stack: the next node is the last one, so that the first ones in flight are those at its end.
  const stack: Pending[] = [{ path: top, depth: 0, reading: undefined }]
  let inFlight = 0
  const begin = (pending: Pending): void => {
    inFlight++
    pending.reading = look(client, pending.path, pending.depth).finally(() => inFlight--)
    // Whoever takes it from the stack hears of it.
    pending.reading.catch(() => {})
  }
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    signal?.throwIfAborted()
    if (next.reading === undefined) begin(next)
    for (const ahead of stack.slice(-inFlightMax).toReversed()) {
      if (inFlight >= inFlightMax) break
      if (ahead.reading === undefined) begin(ahead)
    }
    const node = await next.reading!
    if (node === undefined) {
      if (next.depth === 0) throw noNode(top)
      continue
    }
    yield node
    if (next.depth >= depthMax) continue
    for (const name of node.children.toReversed()) {
      const path = joinPath(node.path, name)
      if (skip?.(path) !== true) stack.push({ path, depth: next.depth + 1, reading: undefined })
    }
  }
}

async function look(client: Client, path: string, depth: number): Promise<WalkedNode | undefined> {
  try {
    const { children, stat } = await client.childrenWithStat(path)
    return { path, depth, stat, children: children.toSorted(), isHidden: false }
  } catch (error) {
    if (isRefusal(error, 'noNode')) return undefined
    if (!isRefusal(error, 'noAuth')) throw error
    return { path, depth, stat: await statIfAllowed(client, path), children: [], isHidden: true }
  }
}

async function statIfAllowed(client: Client, path: string): Promise<Stat | undefined> {
  try {
    return await client.exists(path)
  } catch (error) {
    if (isRefusal(error, 'noAuth')) return undefined
    throw error
  }
}

function noNode(path: string): CommandError {
  return new CommandError(`${path} does not exist`, {
    code: 'noNode',
    exitCode: exitCodes.notFound,
  })
}
