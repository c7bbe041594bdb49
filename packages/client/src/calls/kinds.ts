/** The operations of the protocol as calls: their requests, and the results for callers. */
import {
  errorCodes,
  operations,
  type Acl,
  type MultiResult,
  type OperationName,
  type Reader,
  type RequestOf,
} from '@zabra/protocol'
import { told, type Codec } from '../codec.ts'
import type { Call, Kind } from '../machine/call.ts'
import { readStat, Stat } from '../stat.ts'
import { noData } from './data-bytes.ts'

/** A created node; the path ends with its number if it is sequential. */
export interface Created {
  readonly path: string
  readonly stat: Stat
}

export interface Data<T = Uint8Array> {
  readonly data: T
  readonly stat: Stat
}

export interface Children {
  readonly children: string[]
  readonly stat: Stat
}

export interface AclAndStat {
  readonly acl: Acl[]
  readonly stat: Stat
}

/** An identity of the connection, by its scheme. */
export interface Identity {
  readonly scheme: string
  readonly user: string
}

/** The results of several operations, and the zxid of the reply. */
export interface MultiReply {
  readonly results: MultiResult[]
  readonly zxid: bigint
}

/** Kept by a call to translate the path in its reply. */
export type FromServer = (path: string) => string | undefined

const empty = new Uint8Array(0)

function kind<Name extends OperationName, Result>(
  name: Name,
  isRead: boolean,
  read: (reader: Reader, call: Call<RequestOf<Name>, Result>, zxid: bigint) => Result,
  refused?: (err: number) => { readonly value: Result } | undefined,
): Kind<RequestOf<Name>, Result> {
  const { code, request } = operations[name]
  const write = request.write as Kind<RequestOf<Name>, Result>['write']
  return { name, code, isRead, write, read, ...(refused === undefined ? {} : { refused }) }
}

const done = (): void => {}

interface ReadCall {
  readonly path: string | undefined
  readonly context: unknown
}

interface CreateCall {
  readonly request: { readonly path: string | null }
  readonly path: string | undefined
  readonly context: unknown
}

function created(reader: Reader, call: CreateCall): Created {
  return { path: createdPath(reader, call), stat: readStat(reader) }
}

/** Unless a number was appended it equals the requested path, and need not be built again. */
function createdPath(reader: Reader, { request, path: asked, context }: CreateCall): string {
  if (asked !== undefined && reader.skipText(request.path ?? '')) return asked
  const path = reader.ustring()
  return (context as FromServer)(path) ?? path
}

/** A copy: the bytes of the reader are reused. */
function ownBytes(reader: Reader): Uint8Array {
  const view = reader.buffer()
  if (view === null) return noData
  return view.length === 0 ? empty : new Uint8Array(view)
}

function texts(reader: Reader): string[] {
  const count = reader.count(4)
  const result: string[] = []
  for (let i = 0; i < count; i++) result.push(reader.ustring())
  return result
}

export const create = kind('create2', false, created)
export const createContainer = kind('createContainer', false, created)
export const createTtl = kind('createTTL', false, created)
export const remove = kind('delete', false, done)
export const setData = kind('setData', false, readStat)
export const setAcl = kind('setACL', false, readStat)

function readData(reader: Reader, call: ReadCall, zxid: bigint): Data<unknown> {
  const bytes = ownBytes(reader)
  const stat = readStat(reader)
  const codec = call.context as Codec<unknown> | undefined
  if (codec === undefined) return { data: bytes, stat }
  return { data: told({ path: call.path, zxid }, () => codec.decode(bytes)), stat }
}

export const getData = kind<'getData', Data<unknown>>('getData', true, readData)

const absent = { value: undefined }
const unlessAbsent = (err: number): typeof absent | undefined =>
  err === errorCodes.noNode ? absent : undefined

/** The same, for operations where noNode is a valid answer. */
export const findData = kind<'getData', Data<unknown> | undefined>(
  'getData',
  true,
  readData,
  unlessAbsent,
)

export const exists = kind<'exists', Stat | undefined>('exists', true, readStat, unlessAbsent)

export const getChildren = kind('getChildren', true, texts)

export const getChildrenWithStat = kind('getChildren2', true, (reader): Children => ({
  children: texts(reader),
  stat: readStat(reader),
}))

export const getAcl = kind('getACL', true, (reader): AclAndStat => {
  const { acl, stat } = operations.getACL.response.read(reader)
  return { acl, stat: Stat.of(stat) }
})

export const sync = kind('sync', true, done)

export const getEphemerals = kind('getEphemerals', true, (reader, call: { context: unknown }) => {
  const inChroot = call.context as FromServer
  return texts(reader).flatMap((path) => inChroot(path) ?? [])
})

export const countDescendants = kind('getAllChildrenNumber', true, (reader) => reader.int())

export const whoAmI = kind('whoAmI', true, (reader): Identity[] =>
  operations.whoAmI.response
    .read(reader)
    .clientInfo.map(({ authScheme, user }) => ({ scheme: authScheme ?? '', user: user ?? '' })),
)

export const reconfig = kind('reconfig', false, (reader): Data => ({
  data: ownBytes(reader),
  stat: readStat(reader),
}))

export const addWatch = kind('addWatch', true, done)
export const checkWatches = kind('checkWatches', true, done)
/** A repeated one would find no watch; and a new connection has none of the old ones. */
export const removeWatches = kind('removeWatches', true, done)
export const closeSession = kind('closeSession', false, done)
export const multi = kind('multi', false, (reader, _, zxid): MultiReply => ({
  results: operations.multi.response.read(reader),
  zxid,
}))
export const multiRead = kind('multiRead', true, (reader, _, zxid): MultiReply => ({
  results: operations.multiRead.response.read(reader).map(detached),
  zxid,
}))

/** Data in results are views of received bytes, which are reused. */
function detached<T extends { readonly err: number; readonly response?: unknown }>(result: T): T {
  const { response } = result
  if (typeof response !== 'object' || response === null || !('data' in response)) return result
  const { data } = response
  return {
    ...result,
    response: { ...response, data: data instanceof Uint8Array ? data.slice() : noData },
  }
}
