import type { Masks } from '../play/masks.ts'
import type { Received, Told } from '../play/transcript.ts'
import { opcodes, opname, xids } from './opcodes.ts'
import { StrictReader } from './strict-reader.ts'

const connectResponseBytes = 37

/**
 * Decodes a reply to `op` (undefined if none is expected), or a notification. Bytes that cannot be
 * decoded, and bytes after the last field, are recorded as hex.
 */
export function decodeReply(bytes: Buffer, op: string | undefined, masks: Masks): Received {
  // Apache's answer to this internal operation is a ConnectResponse: random except for its length.
  if (op === 'createSession' && bytes.length === connectResponseBytes) {
    return { xid: 0, connectResponse: bytes.length }
  }
  if (bytes.length < 16) return { shortFrame: bytes.toString('hex') }
  const reader = new StrictReader(bytes)
  const received: Received = { xid: reader.int() }
  const zxid = reader.long()
  const err = reader.int()
  const start = reader.rest()
  let decoded = true
  if (received['xid'] === xids.notification) {
    received['zxid'] = masks.zxid(zxid)
    received['err'] = err
    try {
      received['type'] = reader.int()
      received['state'] = reader.int()
      received['path'] = masks.path(reader.text())
    } catch {
      received['unread'] = 'short'
    }
  } else {
    received['zxid'] = masks.headerZxid(zxid, err)
    received['err'] = err
    try {
      if (err === 0) Object.assign(received, readBody(op, reader, masks))
      // Apache sends the results so far when a multiRead fails in the middle.
      else if (start.length > 0) received['body'] = readBody(op, reader, masks)
    } catch {
      decoded = false
      if (err === 0) received['undecoded'] = start.toString('hex')
      else received['undecodedBytes'] = start.length
    }
  }
  if (decoded && reader.rest().length > 0) received['trailing'] = reader.rest().toString('hex')
  return received
}

/** The zxid in a reply's header. */
export function headerZxid(bytes: Buffer): bigint {
  return bytes.readBigInt64BE(4)
}

function readBody(op: string | undefined, reader: StrictReader, masks: Masks): Received {
  const path = () => masks.path(reader.text())
  const children = () => masks.children(reader.vector(path))
  switch (op) {
    case 'create':
    case 'sync':
      return { path: path() }
    case 'create2':
    case 'createContainer':
    case 'createTTL':
      return { path: path(), stat: readStat(reader, masks) }
    case 'exists':
    case 'setData':
    case 'setACL':
    case 'check':
      return { stat: readStat(reader, masks) }
    case 'getData':
    case 'reconfig':
      return { data: masks.data(reader.buffer()), stat: readStat(reader, masks) }
    case 'getACL':
      return { acl: readAcl(reader, masks), stat: readStat(reader, masks) }
    case 'getChildren':
      return { children: children() }
    case 'getChildren2':
      return { children: children(), stat: readStat(reader, masks) }
    case 'getAllChildrenNumber':
      return { total: reader.int() }
    case 'getEphemerals':
      return { ephemerals: children() }
    case 'whoAmI':
      return { info: readIdentities(reader, masks) }
    case 'sasl':
      return { token: reader.buffer()?.toString('hex') ?? null }
    case 'multi':
    case 'multiRead':
      return { results: readResults(reader, masks) }
    case 'addWatch':
      return { addWatchErr: reader.int() }
    default:
      return {}
  }
}

function readStat(reader: StrictReader, masks: Masks): Received {
  const czxid = reader.long()
  const mzxid = reader.long()
  return {
    czxid: masks.zxid(czxid),
    mzxid: masks.zxid(mzxid),
    ctime: masks.time(czxid, reader.long()),
    mtime: masks.time(mzxid, reader.long()),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    owner: masks.owner(reader.long()),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: masks.zxid(reader.long()),
  }
}

function readAcl(reader: StrictReader, masks: Masks): Told {
  const entry = () => ({ perms: reader.int(), scheme: reader.text(), id: reader.text() })
  return masks.identities(reader.vector(entry))
}

function readIdentities(reader: StrictReader, masks: Masks): Told {
  return masks.identities(reader.vector(() => ({ scheme: reader.text(), id: reader.text() })))
}

function readResults(reader: StrictReader, masks: Masks): Told[] {
  const results: Told[] = []
  for (;;) {
    const type = reader.int()
    const done = reader.byte()
    const err = reader.int()
    if (done !== 0) {
      results.push({ end: [type, done, err] })
      return results
    }
    if (type === -1) {
      results.push({ error: reader.int(), err })
      continue
    }
    const bodiless = type === opcodes.delete || type === opcodes.check
    const body = bodiless ? {} : readBody(opname(type), reader, masks)
    results.push({ type: opname(type) ?? type, err, ...body })
  }
}
