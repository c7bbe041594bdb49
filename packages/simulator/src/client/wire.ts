import {
  codes,
  AddWatchRequest,
  AuthPacket,
  Create2Response,
  CreateRequest,
  CreateResponse,
  CreateTtlRequest,
  decodeText,
  DeleteRequest,
  encodeText,
  GetAclResponse,
  GetAllChildrenNumberResponse,
  GetChildren2Response,
  GetChildrenResponse,
  GetDataResponse,
  GetEphemeralsRequest,
  GetEphemeralsResponse,
  MultiRequest,
  MultiResponse,
  operations,
  PathRequest,
  SetAclRequest,
  SetDataRequest,
  SetWatches2,
  StatResponse,
  SyncRequest,
  SyncResponse,
  WatchableRequest,
  WatchTypeRequest,
  Writer,
  xids,
  type Acl,
  type MultiOp,
  type MultiResult,
  type Reader,
} from '@zabra/protocol'
import { aclOf } from '../model/acl.ts'
import type { Part, ReadPart, Request, Result } from './request.ts'

/** Encodes a request as a whole frame. */
export function encodeRequest(xid: number, request: Request): Uint8Array {
  const writer = new Writer()
  writer.int(0)
  writer.int(xid)
  writer.int(codeOf(request))
  writeBody(writer, request)
  writer.intAt(0, writer.position - 4)
  return new Uint8Array(writer.written())
}

function codeOf(request: Request): number {
  if (request.op === 'create') return operations[request.kind].code
  if (request.op === 'setWatches') return operations.setWatches2.code
  return operations[request.op].code
}

/** The xid of a request; some requests have a fixed xid and do not count. */
export function xidOf(request: Request, next: () => number): number {
  if (request.op === 'auth') return xids.auth
  if (request.op === 'setWatches') return xids.setWatches
  return next()
}

function writeBody(writer: Writer, request: Request): void {
  switch (request.op) {
    case 'create':
      if (request.kind === 'createTTL') CreateTtlRequest.write(writer, createBody(request))
      else CreateRequest.write(writer, createBody(request))
      return
    case 'delete':
      DeleteRequest.write(writer, request)
      return
    case 'setData':
      SetDataRequest.write(writer, { ...request, data: encodeText(request.data) })
      return
    case 'setACL':
      SetAclRequest.write(writer, { ...request, acl: aclOf(request.acl) })
      return
    case 'multi':
      MultiRequest.write(writer, request.parts.map(multiOp))
      return
    case 'multiRead':
      MultiRequest.write(writer, request.parts.map(multiReadOp))
      return
    case 'exists':
    case 'getData':
    case 'getChildren':
    case 'getChildren2':
      WatchableRequest.write(writer, request)
      return
    case 'getACL':
    case 'getAllChildrenNumber':
      PathRequest.write(writer, request)
      return
    case 'sync':
      SyncRequest.write(writer, request)
      return
    case 'getEphemerals':
      GetEphemeralsRequest.write(writer, { prefixPath: request.path })
      return
    case 'addWatch':
      AddWatchRequest.write(writer, request)
      return
    case 'removeWatches':
    case 'checkWatches':
      WatchTypeRequest.write(writer, request)
      return
    case 'auth':
      AuthPacket.write(writer, { type: 0, scheme: 'digest', auth: encodeText(request.user) })
      return
    case 'setWatches': {
      const { since, data, exist, child, persistent, recursive } = request.watches
      SetWatches2.write(writer, {
        relativeZxid: since,
        dataWatches: [...data],
        existWatches: [...exist],
        childWatches: [...child],
        persistentWatches: [...persistent],
        persistentRecursiveWatches: [...recursive],
      })
      return
    }
    case 'whoAmI':
    case 'closeSession':
  }
}

function createBody(part: Extract<Part, { op: 'create' }>): {
  path: string
  data: Uint8Array
  acl: Acl[]
  flags: number
  ttl: bigint
} {
  const { path, data, acl, flags, ttlMs } = part
  return { path, data: encodeText(data), acl: aclOf(acl), flags, ttl: BigInt(ttlMs ?? 0) }
}

function multiOp(part: Part): MultiOp {
  switch (part.op) {
    case 'create':
      if (part.kind === 'createTTL') return { type: codes.createTTL, request: createBody(part) }
      if (part.kind === 'createContainer')
        return { type: codes.createContainer, request: createBody(part) }
      return { type: part.kind === 'create' ? 1 : 15, request: createBody(part) }
    case 'delete':
      return { type: codes.delete, request: part }
    case 'setData':
      return { type: codes.setData, request: { ...part, data: encodeText(part.data) } }
    case 'check':
      return { type: codes.check, request: part }
  }
}

function multiReadOp({ op, path }: ReadPart): MultiOp {
  return { type: op === 'getData' ? 4 : 8, request: { path, watch: false } }
}

/** Decodes the body of a reply without an error. */
export function decodeResult(request: Request, reader: Reader): Result {
  switch (request.op) {
    case 'create':
      if (request.kind === 'create') return { err: 0, ...CreateResponse.read(reader) }
      return { err: 0, ...Create2Response.read(reader) }
    case 'setData':
    case 'setACL':
    case 'exists':
      return { err: 0, ...StatResponse.read(reader) }
    case 'getData': {
      const { data, stat } = GetDataResponse.read(reader)
      return { err: 0, data: text(data), stat }
    }
    case 'getChildren':
      return { err: 0, children: GetChildrenResponse.read(reader).children.toSorted() }
    case 'getChildren2': {
      const { children, stat } = GetChildren2Response.read(reader)
      return { err: 0, children: children.toSorted(), stat }
    }
    case 'getACL': {
      const { acl, stat } = GetAclResponse.read(reader)
      return { err: 0, acl: acl.map(aclText), stat }
    }
    case 'sync':
      return { err: 0, path: SyncResponse.read(reader).path ?? '' }
    case 'getAllChildrenNumber':
      return { err: 0, count: GetAllChildrenNumberResponse.read(reader).totalNumber }
    case 'getEphemerals':
      return { err: 0, children: GetEphemeralsResponse.read(reader).ephemerals.toSorted() }
    case 'multi':
    case 'multiRead':
      return { err: 0, parts: MultiResponse.read(reader).map(multiResult) }
    default:
      return { err: 0 }
  }
}

function multiResult(result: MultiResult): Result {
  if (!('response' in result)) return { err: result.err }
  const { path, stat, data, children } = result.response as {
    path?: string
    stat?: Result['stat']
    data?: Uint8Array | null
    children?: string[]
  }
  return {
    err: 0,
    ...(path === undefined ? {} : { path }),
    ...(data === undefined ? {} : { data: text(data) }),
    ...(children === undefined ? {} : { children: children.toSorted() }),
    ...(stat === undefined ? {} : { stat }),
  }
}

function text(data: Uint8Array | null): string | null {
  return data === null ? null : decodeText(data)
}

export function aclText({ perms, id }: Acl): string {
  return `${id.scheme}:${id.id}:${perms}`
}
