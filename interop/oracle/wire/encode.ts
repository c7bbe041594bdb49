import type { AclEntry, Moment, Request, Value } from '../program/program.ts'
import { opcodes } from './opcodes.ts'
import { frame, RawWriter } from './raw-writer.ts'

/** Resolves what is known only during the play. */
export type ZxidAt = (moment: Moment) => bigint

export function encodeRequest(xid: number, request: Request, zxidAt: ZxidAt): Buffer {
  const writer = new RawWriter().int(xid).int(opcodeOf(request))
  return frame(writer.raw(encodeBody(request, zxidAt)).done())
}

export const pingFrame = frame(new RawWriter().int(-2).int(opcodes.ping).done())

function opcodeOf(request: Request): number {
  if (request.op === 'rawOp') return request.opcode
  return request.opcode ?? opcodes[request.op]
}

function encodeBody(request: Request, zxidAt: ZxidAt): Buffer {
  const writer = new RawWriter()
  writeFields(writer, request, zxidAt)
  const whole = writer.done()
  const kept = whole.subarray(0, Math.max(0, whole.length - (request.cut ?? 0)))
  return Buffer.concat([kept, Buffer.from(request.extra ?? '', 'hex')])
}

function writeFields(writer: RawWriter, request: Request, zxidAt: ZxidAt): void {
  switch (request.op) {
    case 'create':
    case 'create2':
    case 'createContainer':
      writer.value(request.path).value(request.data)
      writeAcl(writer, request.acl).int(request.flags)
      break
    case 'createTTL':
      writer.value(request.path).value(request.data)
      writeAcl(writer, request.acl).int(request.flags).long(BigInt(request.ttl))
      break
    case 'delete':
    case 'check':
      writer.value(request.path).int(request.version)
      break
    case 'exists':
    case 'getData':
    case 'getChildren':
    case 'getChildren2':
      writer.value(request.path).bool(request.watch)
      break
    case 'setData':
      writer.value(request.path).value(request.data).int(request.version)
      break
    case 'getACL':
    case 'sync':
    case 'getAllChildrenNumber':
    case 'getEphemerals':
    case 'deleteContainer':
      writer.value(request.path)
      break
    case 'setACL':
      writeAcl(writer.value(request.path), request.acl).int(request.version)
      break
    case 'checkWatches':
    case 'removeWatches':
      writer.value(request.path).int(request.type)
      break
    case 'addWatch':
      writer.value(request.path).int(request.mode)
      break
    case 'setWatches':
    case 'setWatches2': {
      const lists = [request.data, request.exist, request.child]
      if (request.op === 'setWatches2') lists.push(request.persistent, request.recursive)
      writer.long(zxidAt(request.relative))
      for (const list of lists) writer.vector(list, (path) => writer.value(path))
      break
    }
    case 'multi':
    case 'multiRead':
      for (const part of request.ops) {
        writer.int(opcodeOf(part)).bool(false).int(-1).raw(encodeBody(part, zxidAt))
      }
      if (request.noEnd !== true) writer.int(-1).bool(true).int(-1)
      break
    case 'reconfig':
      writer.value(request.joining).value(request.leaving).value(request.members)
      writer.long(BigInt(request.config))
      break
    case 'auth':
      writer.int(0).value(request.scheme).value(request.auth)
      break
    case 'sasl':
      writer.value(request.token)
      break
    case 'createSession':
      writer.int(request.timeout)
      break
    case 'rawOp':
      if (request.data !== null) writer.raw(rawBytes(request.data))
      break
    case 'whoAmI':
    case 'ping':
    case 'closeSession':
      break
  }
}

function rawBytes(value: NonNullable<Value>): Buffer {
  // Without the length before it.
  return new RawWriter().value(value).done().subarray(4)
}

function writeAcl(writer: RawWriter, acl: readonly AclEntry[] | null): RawWriter {
  return writer.vector(acl, ({ perms, scheme, id }) => writer.int(perms).value(scheme).value(id))
}

export interface ConnectFields {
  readonly proto: number
  readonly lastZxid: bigint
  readonly timeout: number
  readonly sessionId: bigint
  readonly password: Value
  readonly ro: number | undefined
  /** The number of bytes missing at the end. */
  readonly cut: number
}

export function encodeConnect(fields: ConnectFields): Buffer {
  const writer = new RawWriter()
  writer.int(fields.proto).long(fields.lastZxid).int(fields.timeout)
  writer.long(fields.sessionId).value(fields.password)
  if (fields.ro !== undefined) writer.bool(fields.ro)
  const whole = writer.done()
  return frame(whole.subarray(0, whole.length - fields.cut))
}
