import { joinPath, type CallOptions, type Client, type Codec } from '@zabra/client'
import { checkPath, makeGuid, onAbort } from '@zabra/client/internal'
import { limited } from './waiting/limits.ts'
import { LiveCell, type Live } from './live/live.ts'
import type { NodeState } from './nodes/node.ts'
import { checkName } from './nodes/parents.ts'
import { tellProblem, type ProblemListener } from './live/problem.ts'
import { Registration } from './holding/registration.ts'
import { TreeCache } from './tree-cache.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface Member<T> {
  readonly name: string
  readonly data: T
  /** Grows each time the member comes back. */
  readonly token: bigint
  /** The session that owns the node; 0 if the node is not ephemeral. */
  readonly session: bigint
}

/** The members of a group by their names. */
export type Members<T> = ReadonlyMap<string, Member<T>>

/** A membership in a group. It survives sessions: after an expiry the member joins again. */
export type Membership<T> = Registration<T>

export interface GroupOptions<T> {
  /** Of the data of members. */
  readonly codec: Codec<T>
}

export interface JoinOptions extends CallOptions {
  /** Of this member; a random one by default. */
  readonly name?: string | undefined
}

export interface WatchGroupOptions extends CallOptions {
  /** Called for nodes whose data the codec refuses: they are not members. */
  readonly onProblem?: ProblemListener | undefined
}

/**
 * A group whose members come and go, each with a name and data.
 *
 *     const group = new Group(client, '/workers', { codec: json<{ port: number }>() })
 *     await using member = await group.join({ port: 8080 }, { name: 'worker-7' })
 *     await using members = await group.watch()
 *     console.log([...members.current.keys()]) // ['worker-7']
 */
export class Group<T> {
  private readonly client: Client
  private readonly path: string
  private readonly codec: Codec<T>

  constructor(client: Client, path: string, options: GroupOptions<T>) {
    this.client = client
    this.path = checkPath(path)
    this.codec = codecOption('Group', options)
  }

  /**
   * Joins the group. If another session has the name, waits until it is free: after a crash, that is
   * when the session of the crashed program expires.
   *
   *     await using member = await group.join({ port: 8080 }, { name: 'worker-7' })
   */
  async join(data: T, options: JoinOptions = {}): Promise<Membership<T>> {
    const { client, path, codec } = this
    const { name = makeGuid(() => client.host.random()), ...limits } = options
    checkName(name, 'a member')
    return limited(client, limits, async (signal) => {
      const registration = new Registration(client, joinPath(path, name), codec, data)
      await registration.registered(signal)
      return registration
    })
  }

  /**
   * The members, kept up to date until this is closed.
   *
   *     await using members = await group.watch()
   *     members.onChange((now) => console.log([...now.keys()]))
   */
  async watch(options: WatchGroupOptions = {}): Promise<Live<Members<T>>> {
    const { client, path, codec } = this
    const { onProblem, ...limits } = options
    const cache = await TreeCache.open(client, path, { ...limits, depthMax: 1 })
    const book = new Book(client, path, codec, onProblem)
    for (const node of cache) book.note(node.path, node)
    const members = new LiveCell(client, book.members(), () => cache.close())
    cache.onChange((changes) => {
      const noted = changes.map(({ path: at, node }) => book.note(at, node))
      if (noted.includes(true)) members.set(book.members())
    })
    onAbort(cache.signal, (reason) => members.fail(reason))
    return members
  }
}

/** The children of one node, decoded. */
class Book<T> {
  private readonly client: Client
  private readonly path: string
  private readonly codec: Codec<T>
  private readonly onProblem: ProblemListener | undefined
  private readonly byName = new Map<string, Member<T>>()

  constructor(
    client: Client,
    path: string,
    codec: Codec<T>,
    onProblem: ProblemListener | undefined,
  ) {
    this.client = client
    this.path = path
    this.codec = codec
    this.onProblem = onProblem
  }

  members(): Members<T> {
    return new Map(this.byName)
  }

  /** Returns whether it was about a member. */
  note(path: string, node: NodeState | undefined): boolean {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (name === '' || path !== joinPath(this.path, name)) return false
    this.byName.delete(name)
    if (node !== undefined) this.add(name, node)
    return true
  }

  private add(name: string, { path, data, stat }: NodeState): void {
    const { codec, onProblem } = this
    try {
      const { czxid: token, ephemeralOwner: session } = stat
      this.byName.set(name, { name, data: codec.decode(data), token, session })
    } catch (problem) {
      tellProblem(this.client, onProblem, { path, problem, stat })
    }
  }
}
