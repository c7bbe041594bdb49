import { codes, type Acl, type MultiOp, type MultiResult } from '@zabra/protocol'
import { versionOf } from './calls/arguments.ts'
import { createRequest } from './calls/create-request.ts'
import { dataBytes } from './calls/data-bytes.ts'
import type { MultiReply } from './calls/kinds.ts'
import { callNames, checkOptionNames, createInTransactionNames } from './calls/option-names.ts'
import type { Codec } from './codec.ts'
import { refusalOf, TransactionError } from './errors.ts'
import type { CallOptions, CreateOptions } from './options.ts'
import { Paths } from './paths.ts'
import { Stat } from './stat.ts'

/** A node created by a transaction; releases before 3.8.2 do not return its stat. */
export interface TransactionCreated {
  readonly path: string
  readonly stat: Stat | undefined
}

/** A condition that another object adds to a transaction, such as a lock. */
export interface Guard {
  /** Nodes that must exist, optionally with these versions. */
  readonly checks: readonly { readonly path: string; readonly version?: number | undefined }[]
  /**
   * The chroot of these paths; by default that of the transaction. A lock and the data that it
   * protects may be in different namespaces.
   */
  readonly chroot?: string | undefined
  /** Called before anything is sent; if it throws, `commit` rejects with the error. */
  readonly assert?: (() => void) | undefined
  /** The error of `commit` if a check fails; `refusal` is the server's error. */
  readonly failed: (refusal: TransactionError) => unknown
}

type NodeOptions = Omit<CreateOptions, keyof CallOptions | 'protect' | 'parents'>
interface IfVersion {
  readonly ifVersion?: number | 'any' | undefined
}

/** One operation, with its request and its name. */
interface Entry {
  readonly op: MultiOp
  /** The path as the caller wrote it. */
  readonly path: string
  /** The guard that added it: such a check has no result. */
  readonly guard?: Guard
}

const runtimeInconsistency = -2
const ifVersionOnly = { ifVersion: true } as const

/**
 * Operations that succeed or fail together. Each adds one result to the array that `commit`
 * resolves to; if one is refused, `commit` rejects with a TransactionError that says which.
 *
 *     const [created, changed] = await client
 *       .transaction()
 *       .create('/orders/17', 'new')
 *       .set('/stock/apples', '41', { ifVersion: stat.version })
 *       .commit()
 */
export class Transaction<Results extends readonly unknown[] = []> {
  private readonly paths: Paths
  private readonly send: (ops: MultiOp[], options?: CallOptions) => Promise<MultiReply>
  private readonly defaultAcl: readonly Acl[]
  private readonly entries: Entry[] = []
  private readonly guards: Guard[] = []

  constructor(
    paths: Paths,
    defaultAcl: readonly Acl[],
    send: (ops: MultiOp[], options?: CallOptions) => Promise<MultiReply>,
  ) {
    this.paths = paths
    this.defaultAcl = defaultAcl
    this.send = send
  }

  /**
   * Like `client.create`, without `protect` and `parents`.
   *
   *     await client.transaction().create('/orders/order-', 'new', { sequential: true }).commit()
   */
  create(
    path: string,
    data?: Uint8Array | string,
    options?: NodeOptions,
  ): Transaction<[...Results, TransactionCreated]>
  create<T>(
    path: string,
    value: T,
    options: NodeOptions & { readonly codec: Codec<T> },
  ): Transaction<[...Results, TransactionCreated]>
  create(
    path: string,
    value?: unknown,
    options: NodeOptions & { readonly codec?: Codec<unknown> } = {},
  ): Transaction<[...Results, TransactionCreated]> {
    // Parents cannot be created after the transaction was refused; each needs its own operation.
    if ('parents' in options && options.parents !== undefined)
      throw new TypeError(`a transaction creates no parents: ${path}`)
    checkOptionNames('create in a transaction', options, createInTransactionNames)
    const data = dataBytes(value, options.codec, path)
    const { kind, request } = createRequest(this.paths, path, data, options, this.defaultAcl)
    return this.add<TransactionCreated>({ path, op: { type: kind.code, request } as MultiOp })
  }

  /**
   * Like `client.set`.
   *
   *     await client.transaction().set('/stock', '41', { ifVersion: stat.version }).commit()
   */
  set(path: string, data: Uint8Array | string, options?: IfVersion): Transaction<[...Results, Stat]>
  set<T>(
    path: string,
    value: T,
    options: IfVersion & { readonly codec: Codec<T> },
  ): Transaction<[...Results, Stat]>
  set(
    path: string,
    value: unknown,
    options: IfVersion & { readonly codec?: Codec<unknown> } = {},
  ): Transaction<[...Results, Stat]> {
    checkOptionNames('set in a transaction', options, { ifVersion: true, codec: true })
    const data = dataBytes(value, options.codec, path)
    const request = { path: this.paths.toServer(path), data, version: versionOf(options) }
    return this.add<Stat>({ path, op: { type: codes.setData, request } })
  }

  /**
   * Like `client.delete`.
   *
   *     await client.transaction().delete('/jobs/17').create('/done/17').commit()
   */
  delete(path: string, options: IfVersion = {}): Transaction<[...Results, undefined]> {
    checkOptionNames('delete in a transaction', options, ifVersionOnly)
    const request = { path: this.paths.toServer(path), version: versionOf(options) }
    return this.add<undefined>({ path, op: { type: codes.delete, request } })
  }

  /**
   * Changes nothing; the transaction fails unless the node exists, and has this version.
   *
   *     await client.transaction().check('/leader', stat.version).set('/report', 'done').commit()
   */
  check(path: string, version: number | 'any' = 'any'): Transaction<[...Results, undefined]> {
    return this.add<undefined>({ path, op: checkOp(this.paths.toServer(path), version) })
  }

  /**
   * Adds conditions that have no results, and their own error. `held.guard(transaction)` of
   * `@zabra/recipes` calls this.
   *
   *     const guarded = held.guard(client.transaction().set('/report', 'done')) // calls guardedBy
   */
  guardedBy(guard: Guard): this {
    this.guards.push(guard)
    const { checks, chroot } = guard
    const paths = chroot === undefined ? this.paths : new Paths(chroot)
    for (const { path, version } of checks)
      this.entries.push({ path, op: checkOp(paths.toServer(path), version ?? 'any'), guard })
    return this
  }

  /**
   * Sends the transaction. Resolves to the results, in the order of the operations. Calling it
   * again sends it again.
   *
   *     const [created, changed] = await client.transaction().create('/a').set('/b', 'x').commit()
   *     console.log(created.path, changed.version)
   */
  async commit(options?: CallOptions): Promise<Results> {
    if (options !== undefined) checkOptionNames('commit', options, callNames)
    const { entries, paths } = this
    for (const { assert } of this.guards) assert?.()
    const { results, zxid } = await this.send(
      entries.map(({ op }) => op),
      options,
    )
    const failed = results.findIndex(({ err }) => err !== 0 && err !== runtimeInconsistency)
    if (failed >= 0) throw this.errorOf(failed, results[failed]!.err, zxid)
    return results
      .filter((_, index) => entries[index]!.guard === undefined)
      .map((result) => valueOf(result, paths)) as unknown as Results
  }

  private errorOf(failed: number, err: number, zxid: bigint): unknown {
    const { entries, paths } = this
    const { path, guard } = entries[failed]!
    // The caller does not count checks of guards.
    const before = entries.slice(0, failed)
    const index = before.filter((entry) => entry.guard === undefined).length
    const { chroot } = paths
    const refusal = new TransactionError(index, refusalOf(err), { path, zxid, chroot })
    return guard === undefined ? refusal : guard.failed(refusal)
  }

  private add<Result>(entry: Entry): Transaction<[...Results, Result]> {
    this.entries.push(entry)
    return this as unknown as Transaction<[...Results, Result]>
  }
}

function checkOp(serverPath: string, version: number | 'any'): MultiOp {
  const request = { path: serverPath, version: versionOf({ ifVersion: version }) }
  return { type: codes.check, request }
}

/** A transaction with any results. */
export interface AnyTransaction {
  guardedBy(guard: Guard): unknown
}

function valueOf(result: MultiResult, paths: Paths): unknown {
  if (!('type' in result)) return undefined
  const response = result.response as { path?: string; stat?: Parameters<typeof Stat.of>[0] }
  const stat = response.stat && Stat.of(response.stat)
  if (response.path === undefined) return stat
  return { path: paths.fromServer(response.path) ?? response.path, stat }
}
