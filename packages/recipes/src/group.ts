import { joinPath, type CallOptions, type Client, type Codec } from '@zabra/client'
import { makeGuid, onAbort } from '@zabra/client/internal'
import { limited } from './waiting/limits.ts'
import { LiveCell, type Live } from './live/live.ts'
import type { NodeState } from './nodes/node.ts'
import { checkName } from './nodes/parents.ts'
import { tellProblem, type ProblemListener } from './live/problem.ts'
import { Registration } from './holding/registration.ts'
import { openTreeCache } from './tree-cache.ts'

export interface Member<T> {
  readonly name: string
  readonly data: T
  /** Of the registration: grows each time the member comes back. */
  readonly token: bigint
  /** The session by which the member lives; 0 where the node is not ephemeral. */
  readonly session: bigint
}

/** The members of a group by their names. */
export type Members<T> = ReadonlyMap<string, Member<T>>

/** A place in a group. It outlasts sessions: after an expiry it is taken again. */
export type Membership<T> = Registration<T>

export interface JoinOptions<T> extends CallOptions {
  readonly codec: Codec<T>
  /** Of this member; a random one by default. */
  readonly name?: string | undefined
}

export interface GroupOptions<T> extends CallOptions {
  readonly codec: Codec<T>
  /** Hears of nodes whose data the codec does not understand: they are no members. */
  readonly onProblem?: ProblemListener | undefined
}

/**
 * Joins a group. Where another session has the name, waits until it is free: so it is after a
 * crash, until the session of the one that crashed expires.
 */
export async function joinGroup<T>(
  client: Client,
  path: string,
  data: T,
  options: JoinOptions<T>,
): Promise<Membership<T>> {
  const { codec, name = makeGuid(() => client.host.random()) } = options
  checkName(name, 'a member')
  return limited(client, options, async (signal) => {
    const registration = new Registration(client, joinPath(path, name), codec, data)
    await registration.registered(signal)
    return registration
  })
}

/** The members of a group, kept up to date until that is closed. */
export async function watchGroup<T>(
  client: Client,
  path: string,
  options: GroupOptions<T>,
): Promise<Live<Members<T>>> {
  const { signal, timeoutMs } = options
  const cache = await openTreeCache(client, path, { signal, timeoutMs, depthMax: 1 })
  const book = new Book(client, path, options)
  for (const node of cache) book.note(node.path, node)
  const members = new LiveCell(client, book.members(), () => cache.close())
  cache.onChange((changes) => {
    const noted = changes.map(({ path: at, node }) => book.note(at, node))
    if (noted.includes(true)) members.set(book.members())
  })
  onAbort(cache.signal, (reason) => members.fail(reason))
  return members
}

/** The children of one node, decoded. */
class Book<T> {
  private readonly client: Client
  private readonly path: string
  private readonly options: GroupOptions<T>
  private readonly byName = new Map<string, Member<T>>()

  constructor(client: Client, path: string, options: GroupOptions<T>) {
    this.client = client
    this.path = path
    this.options = options
  }

  members(): Members<T> {
    return new Map(this.byName)
  }

  /** Answers whether it was about a member. */
  note(path: string, node: NodeState | undefined): boolean {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (name === '' || path !== joinPath(this.path, name)) return false
    this.byName.delete(name)
    if (node !== undefined) this.add(name, node)
    return true
  }

  private add(name: string, { path, data, stat }: NodeState): void {
    const { codec, onProblem } = this.options
    try {
      const { czxid: token, ephemeralOwner: session } = stat
      this.byName.set(name, { name, data: codec.decode(data), token, session })
    } catch (problem) {
      tellProblem(this.client, onProblem, { path, problem, stat })
    }
  }
}
