/** Frames that a server must survive: valid requests and mutations of them. */
import {
  ConnectRequest,
  encode,
  operations,
  RequestHeader,
  Writer,
  type Acl,
  type Codec,
  type MultiOp,
  type OperationName,
  type RequestOf,
} from '@zabra/protocol'
import type { Random } from '../random.ts'

const hostileInts = [0, 1, -1, -2, 0x7fffffff, -0x80000000, 0xfffff, 0x100000, 0x10000, 0x73727672]
const schemes = ['world', 'ip', 'digest', 'auth', 'x509', 'sasl', '', 'super', null]
const names = ['/', '/a', '/b', '/a/b', '/a/c', '/b/d', '/a/b/e', '/zookeeper/quota', '/zookeeper']
const oddNames = [
  '',
  'a',
  '//',
  '/a/',
  '/a//b',
  '/../a',
  '/a/.',
  '/\u0000',
  '/\ud800',
  `/${'x'.repeat(3000)}`,
]

type Makers = { readonly [Name in OperationName]?: (random: Random) => RequestOf<Name> }

const makers: Makers = {
  create: makeCreate,
  create2: makeCreate,
  createContainer: (random) => ({ ...makeCreate(random), flags: random.pick([4, 4, 0, 7]) }),
  createTTL: (random) => ({ ...makeCreate(random), flags: 5, ttl: BigInt(random.int(1e9)) }),
  delete: (random) => ({ path: path(random), version: random.between(-2, 2) }),
  setData: (random) => ({ path: path(random), data: data(random), version: random.between(-2, 2) }),
  setACL: (random) => ({ path: path(random), acl: acl(random), version: -1 }),
  getData: watchable,
  exists: watchable,
  getChildren: watchable,
  getChildren2: watchable,
  getACL: (random) => ({ path: path(random) }),
  sync: (random) => ({ path: random.chance(0.1) ? null : path(random) }),
  ping: () => ({}),
  whoAmI: () => ({}),
  getEphemerals: (random) => ({ prefixPath: path(random) }),
  getAllChildrenNumber: (random) => ({ path: path(random) }),
  addWatch: (random) => ({ path: path(random), mode: random.between(-1, 2) }),
  removeWatches: (random) => ({ path: path(random), type: random.between(0, 6) }),
  checkWatches: (random) => ({ path: path(random), type: random.between(0, 6) }),
  setWatches: (random) => ({ relativeZxid: 0n, ...watchLists(random) }),
  setWatches2: (random) => ({
    relativeZxid: BigInt(random.int(1000)),
    ...watchLists(random),
    persistentWatches: paths(random),
    persistentRecursiveWatches: paths(random),
  }),
  multi: (random) => multi(random),
  multiRead: (random) =>
    Array.from({ length: random.int(5) }, () => ({
      type: random.pick([4, 8] as const),
      request: watchable(random),
    })),
  reconfig: () => ({
    joiningServers: null,
    leavingServers: '1',
    newMembers: 'x',
    curConfigId: -1n,
  }),
  auth: (random) => ({ type: 0, scheme: random.pick(['digest', 'ip', 'x']), auth: data(random) }),
  sasl: (random) => ({ token: data(random) }),
}
const makerNames = Object.keys(makers) as OperationName[]

/** A request as a client sends it, including the length. */
export function validRequest(random: Random): Uint8Array {
  const name = random.pick(makerNames)
  const { code, request } = operations[name]
  const make = makers[name] as (random: Random) => unknown
  const writer = new Writer()
  writer.int(0)
  RequestHeader.write(writer, { xid: random.int(1000), type: code })
  ;(request as Codec<unknown>).write(writer, make(random))
  writer.intAt(0, writer.position - 4)
  return writer.written().slice()
}

export function greeting(random: Random): Uint8Array {
  const body = encode(ConnectRequest, {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeOut: random.between(0, 2000),
    sessionId: random.chance(0.1) ? 0x1234567890n : 0n,
    passwd: random.chance(0.1) ? random.bytes(random.int(40)) : new Uint8Array(16),
    readOnly: random.chance(0.5) ? false : undefined,
  })
  return framed(body, body.length)
}

/** A frame with a wrong length. */
export function framed(body: Uint8Array, claimed: number): Uint8Array {
  const frame = new Uint8Array(4 + body.length)
  new DataView(frame.buffer).setInt32(0, claimed)
  frame.set(body, 4)
  return frame
}

/** Changes some bytes; the length stays right, so that the stream stays aligned. */
export function mutated(frame: Uint8Array, random: Random): Uint8Array {
  let body: Uint8Array = frame.slice(4)
  for (let times = random.between(1, 3); times > 0; times--) body = mutateOnce(body, random)
  return framed(body, body.length)
}

function mutateOnce(body: Uint8Array, random: Random): Uint8Array {
  const at = random.int(Math.max(1, body.length))
  switch (random.int(6)) {
    case 0: // Flip a bit.
      if (body.length > 0) body[at] = body[at]! ^ (1 << random.int(8))
      return body
    case 1: // Change a length or a count.
      if (body.length >= 4) {
        const start = Math.min(body.length - 4, random.chance(0.7) ? at & ~3 : at)
        new DataView(body.buffer).setInt32(start, random.pick(hostileInts))
      }
      return body
    case 2: // Drop the rest.
      return body.slice(0, at)
    case 3: // Append something.
      return join(body, random.bytes(random.int(50)))
    case 4: // Repeat a part.
      return join(body.subarray(0, at), body.subarray(random.int(at + 1)))
    default: // Replace a part by noise.
      body.set(random.bytes(Math.min(8, body.length - at)), Math.min(at, body.length))
      return body
  }
}

/** A length that is far too large, and a few bytes of content. */
export function dishonest(random: Random): Uint8Array {
  return framed(random.bytes(random.int(64)), random.pick(hostileInts))
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

function path(random: Random): string {
  return random.pick(random.chance(0.1) ? oddNames : names)
}

function paths(random: Random): string[] {
  return Array.from({ length: random.int(4) }, () => path(random))
}

function data(random: Random): Uint8Array | null {
  if (random.chance(0.1)) return null
  return random.bytes(random.int(random.chance(0.02) ? 20_000 : 60))
}

function acl(random: Random): Acl[] | null {
  if (random.chance(0.05)) return null
  if (random.chance(0.7)) return [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
  const entry = (): Acl => ({
    perms: random.int(64),
    id: { scheme: random.pick(schemes), id: random.pick(['anyone', '127.0.0.1', 'u:h', '', null]) },
  })
  return Array.from({ length: random.int(4) }, entry)
}

function watchable(random: Random): { path: string; watch: boolean } {
  return { path: path(random), watch: random.chance(0.5) }
}

function makeCreate(random: Random): RequestOf<'create'> {
  const flags = random.pick([0, 0, 0, 1, 1, 3, 2, 7, -1])
  return { path: path(random), data: data(random), acl: acl(random), flags }
}

function multi(random: Random): MultiOp[] {
  return Array.from({ length: random.int(6) }, (): MultiOp => {
    switch (random.int(4)) {
      case 0:
        return { type: 1, request: makeCreate(random) }
      case 1:
        return { type: 2, request: { path: path(random), version: -1 } }
      case 2:
        return { type: 5, request: { path: path(random), data: data(random), version: -1 } }
      default:
        return { type: 13, request: { path: path(random), version: random.between(-1, 3) } }
    }
  })
}

function watchLists(random: Random) {
  return { dataWatches: paths(random), existWatches: paths(random), childWatches: paths(random) }
}
