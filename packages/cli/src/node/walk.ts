import { isRefusal, type Acl, type Client, type Stat } from '@zabra/client'
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
  /** Where asked for; undefined also where it may not be read. */
  readonly data?: Uint8Array | undefined
  readonly acl?: readonly Acl[] | undefined
}

export interface WalkOptions {
  readonly depthMax?: number | undefined
  /** Of each node, only so many children, the first ones. */
  readonly childrenMax?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** A node to leave out, with everything below it. */
  readonly skip?: ((path: string) => boolean) | undefined
  /** Read the data of each node, too. */
  readonly data?: boolean | undefined
  /** Read the ACL of each node, too. */
  readonly acl?: boolean | undefined
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
  { depthMax = Infinity, childrenMax = Infinity, signal, skip, data, acl }: WalkOptions = {},
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
    pending.reading = look(client, pending.path, pending.depth, { data, acl }).finally(
      () => inFlight--,
    )
    // The error is thrown when it is taken from the stack.
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
    for (const name of node.children.slice(0, childrenMax).toReversed()) {
      const path = joinPath(node.path, name)
      if (skip?.(path) !== true) stack.push({ path, depth: next.depth + 1, reading: undefined })
    }
  }
}

async function look(
  client: Client,
  path: string,
  depth: number,
  wanted: Pick<WalkOptions, 'data' | 'acl'>,
): Promise<WalkedNode | undefined> {
  // Requests of one client are answered in order, so all of them leave together.
  const reading = [
    ifAllowed(client.childrenWithStat(path)),
    wanted.data === true ? ifAllowed(client.get(path)) : Promise.resolve(undefined),
    wanted.acl === true ? ifAllowed(client.getAcl(path)) : Promise.resolve(undefined),
  ] as const
  try {
    const [listed, content, permitted] = await Promise.all(reading)
    const acl = permitted?.acl
    if (listed !== undefined) {
      const children = listed.children.toSorted()
      const stat = content?.stat ?? listed.stat
      return { path, depth, stat, children, isHidden: false, data: content?.data, acl }
    }
    const stat = await ifAllowed(client.exists(path))
    return { path, depth, stat, children: [], isHidden: true, data: content?.data, acl }
  } catch (error) {
    if (isRefusal(error, 'noNode')) return undefined
    throw error
  }
}

/** Undefined where the identities of this client are not enough. */
async function ifAllowed<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
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
