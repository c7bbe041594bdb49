/** The lists of multi and multiRead: a header before each part, and one with `done` at the end. */
import { MalformedError, type Codec, type Reader, type TypeOf, type Writer } from '../jute.ts'
import { errorCodes } from '../errors.ts'
import {
  CheckVersionRequest,
  Create2Response,
  CreateRequest,
  CreateResponse,
  CreateTtlRequest,
  DeleteRequest,
  Empty,
  GetChildrenResponse,
  GetDataResponse,
  SetDataRequest,
  StatResponse,
  WatchableRequest,
} from './client.ts'

const endOfList = { type: -1, done: true, err: -1 } as const

/** The operations a multi may hold, and what stands in their result. */
const writeParts = {
  1: { request: CreateRequest, resultType: 1, response: CreateResponse },
  15: { request: CreateRequest, resultType: 15, response: Create2Response },
  // Containers and TTL nodes answer as create2 inside a multi.
  19: { request: CreateRequest, resultType: 15, response: Create2Response },
  21: { request: CreateTtlRequest, resultType: 15, response: Create2Response },
  2: { request: DeleteRequest, resultType: 2, response: Empty },
  5: { request: SetDataRequest, resultType: 5, response: StatResponse },
  13: { request: CheckVersionRequest, resultType: 13, response: Empty },
} as const

const readParts = {
  4: { request: WatchableRequest, resultType: 4, response: GetDataResponse },
  8: { request: WatchableRequest, resultType: 8, response: GetChildrenResponse },
} as const

const parts = { ...writeParts, ...readParts } as const
type PartType = keyof typeof parts

/** One operation of a multi, by its number. */
export type MultiOp = {
  [Type in PartType]: { type: Type; request: TypeOf<(typeof parts)[Type]['request']> }
}[PartType]
export type MultiWriteOp = Extract<MultiOp, { type: keyof typeof writeParts }>
export type MultiReadOp = Extract<MultiOp, { type: keyof typeof readParts }>

export function isMultiWrite(op: MultiOp): op is MultiWriteOp {
  return op.type in writeParts
}

const isPart = (type: number): type is PartType => type in parts

function readHeader(reader: Reader): { type: number; done: boolean; err: number } {
  return { type: reader.int(), done: reader.bool(), err: reader.int() }
}

function writeHeader(writer: Writer, type: number, done: boolean, err: number): void {
  writer.int(type)
  writer.bool(done)
  writer.int(err)
}

/** A list of operations; reading refuses a kind that no multi may hold, and a mix of both kinds. */
export const MultiRequest: Codec<MultiOp[]> = {
  bytesMin: 9,
  read(reader) {
    const ops: MultiOp[] = []
    for (;;) {
      const { type, done } = readHeader(reader)
      if (done) return ops
      if (!isPart(type)) throw new MalformedError(`operation ${type} in a multi`)
      const op = { type, request: parts[type].request.read(reader) } as MultiOp
      if (ops.length > 0 && isMultiWrite(ops[0]!) !== isMultiWrite(op))
        throw new MalformedError('reads and writes in one multi')
      ops.push(op)
    }
  },
  write(writer, ops) {
    for (const op of ops) {
      writeHeader(writer, op.type, false, -1)
      const codec = parts[op.type].request as Codec<unknown>
      codec.write(writer, op.request)
    }
    writeHeader(writer, endOfList.type, endOfList.done, endOfList.err)
  },
}

/** The outcome of one operation of a multi: an error, or the response of its kind. */
export type MultiResult =
  | { readonly err: number }
  | { readonly err: 0; readonly type: PartType; readonly response: unknown }

export function writeMultiError(writer: Writer, err: number): void {
  writeHeader(writer, -1, false, err)
  writer.int(err)
}

/** Stands before a successful part's response; `type` is that of the request. */
export function writeMultiSuccess(writer: Writer, type: PartType): void {
  writeHeader(writer, parts[type].resultType, false, 0)
}

export function writeMultiEnd(writer: Writer): void {
  writeHeader(writer, endOfList.type, endOfList.done, endOfList.err)
}

export const MultiResponse: Codec<MultiResult[]> = {
  bytesMin: 9,
  read(reader) {
    const results: MultiResult[] = []
    for (;;) {
      const { type, done, err } = readHeader(reader)
      if (done) return results
      if (type === -1) {
        results.push({ err: reader.int() })
      } else if (isPart(type)) {
        results.push({ err: 0, type, response: parts[type].response.read(reader) })
      } else {
        throw new MalformedError(`a result of type ${type} (${err}) in a multi`)
      }
    }
  },
  write(writer, results) {
    for (const result of results) {
      if (result.err === errorCodes.ok && 'type' in result) {
        writeMultiSuccess(writer, result.type)
        const codec = parts[result.type].response as Codec<unknown>
        codec.write(writer, result.response)
      } else {
        writeMultiError(writer, result.err)
      }
    }
    writeMultiEnd(writer)
  },
}
