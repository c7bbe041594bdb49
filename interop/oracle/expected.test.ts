import { expect, test } from 'vitest'
import { expectedDivergences, explain } from './expected.ts'
import type { Received, StepResult } from './play/transcript.ts'
import type { Request, Step } from './program/program.ts'

const refused: Received = {
  connected: { proto: 0, timeout: 0, session: 0, password: 'zero16', ro: '00' },
}
const opened: Received = {
  connected: { proto: 0, timeout: 20000, session: 'S1', password: 'pw16', ro: '00' },
}
const oldStillOpen: Received = { oldStillOpen: true }

const wrongPassword: Step = { do: 'connect', session: 1, how: 'badpw', timeout: 20000, ro: 0 }
const resume: Step = { do: 'connect', session: 1, how: 'same', timeout: 20000, ro: 0 }
const deleteContainer: Request = { op: 'deleteContainer', path: '/P/a' }
const exists: Request = { op: 'exists', path: '/P', watch: false }

function result(session: number, ...received: Received[]): StepResult {
  return { received: { [session]: received } }
}

function op(request: Request): Step {
  return { do: 'op', session: 0, request }
}

function burst(...requests: Request[]): Step {
  return { do: 'burst', session: 0, requests }
}

function reply(xid: number, err: number): Received {
  return { xid, zxid: `z${xid}`, err }
}

test('a wrong password that leaves the old connection open is expected', () => {
  const entry = explain(wrongPassword, result(1, refused), result(1, oldStillOpen, refused))
  expect(entry?.name).toBe('a wrong password leaves the old connection alone')
})

test('a wrong password that is accepted is never expected', () => {
  const candidate = result(1, oldStillOpen, opened)
  expect(explain(wrongPassword, result(1, opened), candidate)).toBeUndefined()
  expect(explain(wrongPassword, result(1, refused), candidate)).toBeUndefined()
})

test('a right password must close the old connection', () => {
  expect(explain(resume, result(1, opened), result(1, oldStillOpen, opened))).toBeUndefined()
})

test('a wrong password excuses nothing that other sessions see', () => {
  const candidate = { received: { 1: [oldStillOpen, refused], 2: [{ closed: true }] } }
  expect(explain(wrongPassword, result(1, refused), candidate)).toBeUndefined()
})

test('deleteContainer may be refused with BadArguments and with nothing else', () => {
  const reference = result(0, reply(1, 0))
  const step = op(deleteContainer)
  const name = 'deleteContainer from a client is refused'
  expect(explain(step, reference, result(0, reply(1, -8)))?.name).toBe(name)
  expect(explain(step, reference, result(0, reply(1, -101)))).toBeUndefined()
  expect(explain(step, reference, result(0, { closed: true }))).toBeUndefined()
})

test('in a burst only the first reply that differs counts', () => {
  const step = burst(exists, deleteContainer)
  const reference = result(0, reply(1, 0), reply(2, 0))
  expect(explain(step, reference, result(0, reply(1, 0), reply(2, -8)))).toBeDefined()
  expect(explain(step, reference, result(0, reply(1, -101), reply(2, -8)))).toBeUndefined()
})

test('the rest of a burst is played again without the request that differs', () => {
  const entry = expectedDivergences.find(({ name }) => name.startsWith('deleteContainer'))
  expect(entry?.without?.(burst(exists, deleteContainer))).toEqual(burst(exists))
  expect(entry?.without?.(op(deleteContainer))).toBeUndefined()
})

test('a TTL that ends Apache may be refused, one that does not must be answered alike', () => {
  const creation = { path: '/P/t', data: null, acl: null, ttl: '-1' }
  const ended = result(0, { closed: true })
  const ours = result(0, reply(1, -8))
  const impossible = op({ op: 'createTTL', ...creation, flags: 0 })
  const ordinary = op({ op: 'createTTL', ...creation, flags: 5 })
  expect(explain(impossible, ended, ours)).toBeDefined()
  expect(explain(ordinary, ended, ours)).toBeUndefined()
})

test('a sync may say a far character again as it was sent, and nothing else', () => {
  const step = op({ op: 'sync', path: '/P/😀' })
  const theirs = result(0, { ...reply(1, 0), path: 'hex:2f502feda0bdedb880' })
  expect(explain(step, theirs, result(0, { ...reply(1, 0), path: '/P/😀' }))).toBeDefined()
  expect(explain(step, theirs, result(0, { ...reply(1, 0), path: '/P/?' }))).toBeUndefined()
  const inHex = op({ op: 'sync', path: { hex: '2f502ff09f9880' } })
  expect(explain(inHex, theirs, result(0, { ...reply(1, 0), path: '/P/😀' }))).toBeDefined()
  const near = op({ op: 'sync', path: '/P' })
  expect(explain(near, theirs, result(0, { ...reply(1, 0), path: '/P' }))).toBeUndefined()
})

const stats = '/zookeeper/quota/P/zookeeper_stats'
const readStats: Request = { op: 'getData', path: stats, watch: false }
const shows = (data: string): Received => ({
  xid: 1,
  zxid: 'z1',
  err: 0,
  data,
  stat: { dataLength: data.length, version: 0 },
})

test('the usage in a stats node may differ, as long as it is a count', () => {
  const theirs = result(0, shows('what a client wrote'))
  const entry = explain(op(readStats), theirs, result(0, shows('count=3,bytes=10')))
  expect(entry?.name).toBe('the use of a quota follows from the tree')
  expect(explain(op(readStats), theirs, result(0, shows('something else')))).toBeUndefined()
  const elsewhere: Request = { op: 'getData', path: '/P', watch: false }
  expect(explain(op(elsewhere), theirs, result(0, shows('count=3,bytes=10')))).toBeUndefined()
})

test('nothing else of a stats node may differ, in the tree that is left', () => {
  const left = (read: Received): StepResult => ({ received: {}, tree: [[stats, read]] })
  const ours = shows('count=3,bytes=10')
  expect(explain(undefined, left(shows('count=4,bytes=9')), left(ours))).toBeDefined()
  const newer = { ...ours, stat: { dataLength: 16, version: 1 } }
  expect(explain(undefined, left(shows('count=4,bytes=9')), left(newer))).toBeUndefined()
})

test('setWatches may withhold events of existing nodes, and nothing else', () => {
  const lists = { data: [], exist: ['/P/a', '/P/b'], child: [], persistent: [], recursive: [] }
  const step = op({ op: 'setWatches2', relative: 'zero', ...lists } as Request)
  const event = (path: string, type: number): Received => ({
    xid: -1,
    zxid: -1,
    err: 0,
    type,
    path,
  })
  const [a, b, gone, end] = [event('/P/a', 1), event('/P/b', 1), event('/P/c', 2), reply(-8, 0)]
  const reference = result(0, a, b, gone, end)
  const name = 'setWatches tells nothing about a node that the client may not read'
  expect(explain(step, reference, result(0, a, gone, end))?.name).toBe(name)
  expect(explain(step, reference, result(0, gone, end))?.name).toBe(name)
  expect(explain(step, reference, result(0, a, b, end))).toBeUndefined()
  expect(explain(step, reference, result(0, b, a, gone, end))).toBeUndefined()
  expect(explain(step, reference, result(0, a, gone))).toBeUndefined()
  expect(explain(op(exists), reference, result(0, a, gone, end))).toBeUndefined()
})
