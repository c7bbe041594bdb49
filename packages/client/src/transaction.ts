import { type Acl, type MultiOp, type MultiResult, type Stat } from '@zabra/protocol'
import { versionOf } from './calls/arguments.ts'
import { createRequest } from './calls/create-request.ts'
import { dataBytes } from './calls/data-bytes.ts'
import type { MultiReply } from './calls/kinds.ts'
import type { Codec } from './codec.ts'
import { refusalOf, TransactionError } from './errors.ts'
import type { CallOptions, CreateOptions } from './options.ts'
import type { Paths } from './paths.ts'

/** A node made by a transaction; releases before 3.8.2 do not tell its stat. */
export interface TransactionCreated {
  readonly path: string
  readonly stat: Stat | undefined
}

type NodeOptions = Omit<CreateOptions, keyof CallOptions | 'protect' | 'parents'>
interface IfVersion {
  readonly ifVersion?: number | 'any' | undefined
}

const runtimeInconsistency = -2

/**
 * Operations that happen all at once or not at all. Each adds one result to what `commit`
 * resolves to; where one is refused, it rejects with a TransactionError that says which.
 */
export class Transaction<Results extends readonly unknown[] = []> {
  private readonly paths: Paths
  private readonly send: (ops: MultiOp[], options?: CallOptions) => Promise<MultiReply>
  private readonly defaultAcl: readonly Acl[]
  private readonly ops: MultiOp[] = []
  /** As the caller wrote them. */
  private readonly names: string[] = []

  constructor(
    paths: Paths,
    defaultAcl: readonly Acl[],
    send: (ops: MultiOp[], options?: CallOptions) => Promise<MultiReply>,
  ) {
    this.paths = paths
    this.defaultAcl = defaultAcl
    this.send = send
  }

  /** As `client.create`, without `protect` and `parents`. */
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
    // Parents cannot be made after a refusal of all; each of them is an operation of its own.
    if ('parents' in options && options.parents !== undefined)
      throw new TypeError(`a transaction makes no parents: ${path}`)
    const data = dataBytes(value, options.codec, path)
    const { kind, request } = createRequest(this.paths, path, data, options, this.defaultAcl)
    return this.add<TransactionCreated>(path, { type: kind.code, request } as MultiOp)
  }

  /** As `client.set`. */
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
    const data = dataBytes(value, options.codec, path)
    const request = { path: this.paths.toServer(path), data, version: versionOf(options) }
    return this.add<Stat>(path, { type: 5, request })
  }

  /** As `client.delete`. */
  delete(path: string, options: IfVersion = {}): Transaction<[...Results, undefined]> {
    const request = { path: this.paths.toServer(path), version: versionOf(options) }
    return this.add<undefined>(path, { type: 2, request })
  }

  /** Changes nothing; the transaction fails unless the node is there, and has this version. */
  check(path: string, version: number | 'any' = 'any'): Transaction<[...Results, undefined]> {
    const request = {
      path: this.paths.toServer(path),
      version: versionOf({ ifVersion: version }),
    }
    return this.add<undefined>(path, { type: 13, request })
  }

  /** Sends it. Resolves to the results, in the order of the operations; a second time it happens again. */
  async commit(options?: CallOptions): Promise<Results> {
    const { names, paths } = this
    const { results, zxid } = await this.send(this.ops, options)
    const index = results.findIndex(({ err }) => err !== 0 && err !== runtimeInconsistency)
    if (index >= 0) {
      const { err } = results[index]!
      throw new TransactionError(index, refusalOf(err), { path: names[index], zxid })
    }
    return results.map((result) => valueOf(result, paths)) as unknown as Results
  }

  private add<Result>(path: string, op: MultiOp): Transaction<[...Results, Result]> {
    this.ops.push(op)
    this.names.push(path)
    return this as unknown as Transaction<[...Results, Result]>
  }
}

function valueOf(result: MultiResult, paths: Paths): unknown {
  if (!('type' in result)) return undefined
  const response = result.response as { path?: string; stat?: Stat }
  if (response.path === undefined) return response.stat
  return { path: paths.fromServer(response.path) ?? response.path, stat: response.stat }
}
