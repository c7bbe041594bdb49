/** Servers with one fault each, made by changing the traffic of a correct server. */
import type { Opname } from '../wire/opcodes.ts'

export interface Fault {
  /** A reply and its error; `ordinal` is its xid, so that every play meets the same fault. */
  reply?(op: Opname | undefined, frame: Buffer, err: number, ordinal: number): Buffer
  /** Replaces a notification; `ordinal` counts them on the connection. */
  event?(frame: Buffer, ordinal: number): Buffer[]
  /** Notifications with this ordinal come after the next reply. */
  delays?(ordinal: number): boolean
  connectResponse?(frame: Buffer): Buffer
  request?(op: Opname | undefined, frame: Buffer): Buffer
}

const headerBytes = 16
/** Offsets in a reply whose body is a Stat. */
const stat = { czxid: 16, mtime: 40, version: 48, cversion: 52, owner: 60, pzxid: 76 } as const

const every = (n: number, ordinal: number) => ordinal % n === 0

function withInt(frame: Buffer, at: number, value: number): Buffer {
  frame.writeInt32BE(value, at)
  return frame
}

function withLong(frame: Buffer, at: number, value: bigint): Buffer {
  frame.writeBigInt64BE(value, at)
  return frame
}

/** A fault in the stat of every n-th successful exists. */
function inStat(n: number, change: (frame: Buffer) => Buffer): Fault {
  return {
    reply: (op, frame, err, ordinal) =>
      op === 'exists' && err === 0 && every(n, ordinal) ? change(frame) : frame,
  }
}

function wrongError(from: number, to: number): Fault {
  return { reply: (_, frame, err) => (err === from ? withInt(frame, 12, to) : frame) }
}

export const faults: Readonly<Record<string, Fault>> = {
  version: inStat(3, (f) => withInt(f, stat.version, f.readInt32BE(stat.version) + 1)),
  cversion: inStat(3, (f) => withInt(f, stat.cversion, f.readInt32BE(stat.cversion) + 1)),
  owner: inStat(1, (f) => withLong(f, stat.owner, 0n)),
  pzxid: inStat(2, (f) => withLong(f, stat.pzxid, f.readBigInt64BE(stat.czxid))),
  mtime: inStat(2, (f) => withLong(f, stat.mtime, f.readBigInt64BE(stat.mtime) + 1n)),
  notEmptyIsNodeExists: wrongError(-111, -110),
  noAuthIsNoNode: wrongError(-102, -101),
  zxidOfCreate: {
    reply: (op, frame, err) =>
      op === 'create' && err === 0 ? withLong(frame, 4, frame.readBigInt64BE(4) - 1n) : frame,
  },
  lostEvent: { event: (frame, ordinal) => (every(3, ordinal) ? [] : [frame]) },
  twiceEvent: { event: (frame, ordinal) => (every(3, ordinal) ? [frame, frame] : [frame]) },
  eventType: {
    event(frame, ordinal) {
      const isChild = frame.readInt32BE(headerBytes) === 4
      return [isChild && every(2, ordinal) ? withInt(frame, headerBytes, 3) : frame]
    },
  },
  lateEvent: { delays: (ordinal) => every(2, ordinal) },
  lostChild: {
    reply(op, frame, err, ordinal) {
      const isList = op === 'getChildren' && err === 0 && every(2, ordinal)
      const count = isList ? frame.readInt32BE(headerBytes) : 0
      if (count < 1) return frame
      let end = headerBytes + 4
      for (let i = 0; i < count - 1; i++) end += 4 + frame.readInt32BE(end)
      return withInt(frame.subarray(0, end), headerBytes, count - 1)
    },
  },
  trailingByte: {
    reply: (op, frame) => (op === 'sync' ? Buffer.concat([frame, Buffer.alloc(1)]) : frame),
  },
  noReadOnlyFlag: { connectResponse: (frame) => frame.subarray(0, -1) },
  timeout: {
    connectResponse: (frame) => (frame.readInt32BE(4) === 20000 ? withInt(frame, 4, 19999) : frame),
  },
  ephemeralIsPersistent: {
    request(op, frame) {
      const isEphemeral = op === 'create' && frame.readInt32BE(frame.length - 4) === 1
      return isEphemeral ? withInt(frame, frame.length - 4, 0) : frame
    },
  },
  noChildWatch: {
    request(op, frame) {
      if (op === 'getChildren2') frame[frame.length - 1] = 0
      return frame
    },
  },
  anyVersion: {
    request(op, frame) {
      const isExact = op === 'setData' && frame.readInt32BE(frame.length - 4) > 0
      return isExact ? withInt(frame, frame.length - 4, -1) : frame
    },
  },
  multiError: {
    reply(op, frame) {
      const hasTwo = op === 'multi' && frame.length > 45 && frame.readInt32BE(headerBytes) === -1
      // The error of the second part: each part has a header of 9 bytes and an int.
      const isNotTried = hasTwo && frame.readInt32BE(38) === -2
      return isNotTried ? withInt(frame, 38, 0) : frame
    },
  },
  aclPerms: {
    reply(op, frame, err) {
      const hasAcl = op === 'getACL' && err === 0 && frame.readInt32BE(headerBytes) > 0
      return hasAcl && frame.readInt32BE(20) === 1 ? withInt(frame, 20, 31) : frame
    },
  },
}
