/**
 * The lists of multi and multiRead: each part has a header, and a header with `done` ends the list.
 */
import { type Codec, type TypeOf } from './codec.ts'
import { MalformedError } from './malformed.ts'
import { type Reader } from './reader.ts'
import { type Writer } from './writer.ts'
import { errorCodes } from './errors.ts'
import { singleReads, singleWrites } from './table.ts'

const endOfList = { type: -1, done: true, err: -1 } as const

type Table = typeof singleWrites & typeof singleReads
/** The operations of a table that a list may contain. */
type Listed<Entries> = {
  [Name in keyof Entries]: Entries[Name] extends { inList: string } ? Name : never
}[keyof Entries]

interface Part {
  readonly isWrite: boolean
  readonly request: Codec<unknown>
  readonly resultType: number
  readonly response: Codec<unknown>
}

const table: Table = { ...singleWrites, ...singleReads }

/** The operations that a list may contain by number, with the records of their results. */
const parts: (Part | undefined)[] = []
for (const [name, entry] of Object.entries(table)) {
  if (!('inList' in entry)) continue
  const { code, response } = table[entry.inList]
  parts[entry.code] = {
    isWrite: name in singleWrites,
    request: entry.request as Codec<unknown>,
    resultType: code,
    response: response as Codec<unknown>,
  }
}

type Requests<Names extends keyof Table> = {
  [Name in Names]: { type: Table[Name]['code']; request: TypeOf<Table[Name]['request']> }
}[Names]

/** One operation of a multi, with its number. */
export type MultiWriteOp = Requests<Listed<typeof singleWrites>>
/** One operation of a multiRead. */
export type MultiReadOp = Requests<Listed<typeof singleReads>>
export type MultiOp = MultiWriteOp | MultiReadOp
type PartType = MultiOp['type']

export function isMultiWrite(op: MultiOp): op is MultiWriteOp {
  return parts[op.type]!.isWrite
}

/** Whether a list may contain this operation. */
export const isMultiPart = (type: number): type is PartType => parts[type] !== undefined

function readHeader(reader: Reader): { type: number; done: boolean; err: number } {
  return { type: reader.int(), done: reader.bool(), err: reader.int() }
}

function writeHeader(writer: Writer, type: number, done: boolean, err: number): void {
  writer.int(type)
  writer.bool(done)
  writer.int(err)
}

/**
 * A list of operations. Reading refuses operations that no list may contain, and a mix of reads and
 * writes.
 */
export const MultiRequest: Codec<MultiOp[]> = {
  bytesMin: 9,
  read(reader) {
    const ops: MultiOp[] = []
    for (;;) {
      const { type, done } = readHeader(reader)
      if (done) return ops
      if (!isMultiPart(type)) throw new MalformedError(`operation ${type} in a multi`)
      const op = { type, request: parts[type]!.request.read(reader) } as MultiOp
      if (ops.length > 0 && isMultiWrite(ops[0]!) !== isMultiWrite(op))
        throw new MalformedError('reads and writes in one multi')
      ops.push(op)
    }
  },
  write(writer, ops) {
    for (const op of ops) {
      writeHeader(writer, op.type, false, -1)
      parts[op.type]!.request.write(writer, op.request)
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

/** Precedes the response of a successful part; `type` is that of the request. */
export function writeMultiSuccess(writer: Writer, type: PartType): void {
  writeHeader(writer, parts[type]!.resultType, false, 0)
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
      } else if (isMultiPart(type)) {
        results.push({ err: 0, type, response: parts[type]!.response.read(reader) })
      } else {
        throw new MalformedError(`a result of type ${type} (${err}) in a multi`)
      }
    }
  },
  write(writer, results) {
    for (const result of results) {
      if (result.err === errorCodes.ok && 'type' in result) {
        writeMultiSuccess(writer, result.type)
        parts[result.type]!.response.write(writer, result.response)
      } else {
        writeMultiError(writer, result.err)
      }
    }
    writeMultiEnd(writer)
  },
}
