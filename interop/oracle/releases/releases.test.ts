import { expect, test } from 'vitest'
import { rankZxids, SeenZxid, type Received, type StepResult } from '../play/transcript.ts'
import { openAcl, type Program, type Request, type Step } from '../program/program.ts'
import { explainByRelease, level, since38 } from './index.ts'

function op(request: Request): Step {
  return { do: 'op', session: 0, request }
}

function programOf(...steps: Step[]): Program {
  return { seed: 'test', profile: 'general', steps }
}

function result(...received: Received[]): StepResult {
  return { received: { 0: received } }
}

function reply(zxid: bigint, err: number, body: Received = {}): Received {
  return { xid: 1, zxid: new SeenZxid(zxid), err, ...body }
}

function event(zxid: bigint | -1, path: string): Received {
  const told = zxid === -1 ? zxid : new SeenZxid(zxid)
  return { xid: -1, zxid: told, err: 0, type: 3, state: 3, path }
}

/** The names of what was removed, and whether nothing else differs. */
function judge(program: Program, older: StepResult[], newer: StepResult[]) {
  const levelled = level(since38, program, older, newer)
  const [a, b] = [levelled.older, levelled.newer].map((one) => rankZxids(one, 'exact'))
  return { seen: levelled.seen, agrees: JSON.stringify(a) === JSON.stringify(b) }
}

const exists: Request = { op: 'exists', path: '/P', watch: false }
const setData: Request = { op: 'setData', path: '/P/a', data: 'd', version: -1 }
const creation = { path: '/P/a', data: 'd', acl: openAcl, flags: 0 }

test('a notification without a zxid is levelled, one with another path is not', () => {
  const name = 'a notification carries the zxid of its cause'
  const program = programOf(op(exists))
  const newer = () => [result(reply(5n, 0), event(5n, '/P'))]
  const same = judge(program, [result(reply(5n, 0), event(-1, '/P'))], newer())
  expect(same).toEqual({ seen: [name], agrees: true })
  expect(judge(program, [result(reply(5n, 0), event(-1, '/Q'))], newer()).agrees).toBe(false)
})

test('a newer notification without a zxid is a divergence', () => {
  const older = [result(reply(5n, 0), event(5n, '/P'))]
  const newer = [result(reply(5n, 0), event(-1, '/P'))]
  expect(judge(programOf(op(exists)), older, newer)).toEqual({ seen: [], agrees: false })
})

test('a zxid spent on an undecodable request is removed from all that follow', () => {
  const program = programOf(op(exists), op({ ...setData, cut: 4 }), op(setData))
  const older = [result(reply(5n, 0)), result(reply(6n, -5)), result(reply(7n, 0))]
  const newer = [result(reply(5n, 0)), result(reply(5n, -5)), result(reply(6n, 0))]
  const name = 'a write that cannot be decoded costs no zxid'
  expect(judge(program, older, newer)).toEqual({ seen: [name], agrees: true })
})

test('a zxid spent on any other failure is a divergence', () => {
  const program = programOf(op(exists), op(setData))
  const older = [result(reply(5n, 0)), result(reply(6n, -101))]
  const newer = [result(reply(5n, 0)), result(reply(5n, -101))]
  expect(judge(program, older, newer)).toEqual({ seen: [], agrees: false })
})

test('a create2 in a multi may lack its stat, and nothing else', () => {
  const multi: Request = { op: 'multi', ops: [{ op: 'create2', ...creation }] }
  const program = programOf(op(multi))
  const results = (type: string, path: string, stat: Received) => {
    return [result(reply(5n, 0, { results: [{ type, err: 0, path, ...stat }] }))]
  }
  const newer = () => results('create2', '/P/a', { stat: { version: 0 } })
  expect(judge(program, results('create', '/P/a', {}), newer()).agrees).toBe(true)
  expect(judge(program, results('create', '/P/b', {}), newer()).agrees).toBe(false)
})

test('a multi with impossible flags may fail as a whole, one without may not', () => {
  const part = (flags: number): Request => ({ op: 'create', ...creation, flags })
  const older = () => [result(reply(5n, 0, { results: [{ error: -8, err: -8 }] }))]
  const newer = () => [result(reply(5n, -5))]
  const judged = (flags: number) =>
    judge(programOf(op({ op: 'multi', ops: [part(flags)] })), older(), newer()).agrees
  expect([-1, 7, 5].map(judged)).toEqual([true, true, true])
  expect([0, 1, 4].map(judged)).toEqual([false, false, false])
})

test('a null ACL in a multi costs 3.8 a zxid', () => {
  const multi: Request = { op: 'multi', ops: [{ op: 'create', ...creation, acl: null }] }
  const program = programOf(op(exists), op(multi))
  const failed = { results: [{ error: -114, err: -114 }] }
  const older = [result(reply(5n, 0)), result(reply(6n, 0, failed))]
  const newer = [result(reply(5n, 0)), result(reply(5n, -5))]
  expect(judge(program, older, newer).agrees).toBe(true)
})

test('exists without READ stays if it set no watch, and is removed if it did', () => {
  const older = () => [result(reply(5n, 0, { stat: { version: 0 } }))]
  const newer = () => [result(reply(5n, -102))]
  expect(judge(programOf(op(exists)), older(), newer())).toMatchObject({ agrees: true })
  const watching = programOf(op({ ...exists, watch: true }))
  expect(judge(watching, older(), newer())).toEqual({ seen: [], agrees: false })
  const found = explainByRelease(since38, watching, 0, older()[0], newer()[0])
  expect(found).toMatchObject({ name: 'exists needs READ', rest: { steps: [] } })
})

test('the answer of exists to clients that may read must be the same', () => {
  const older = [result(reply(5n, 0))]
  const newer = [result(reply(5n, -101))]
  expect(judge(programOf(op(exists)), older, newer).agrees).toBe(false)
})

test('an event that one side misses is traced to the watch that 3.8 forgot', () => {
  const addWatch = op({ op: 'addWatch', path: '/P/a', mode: 0 })
  const oneShot = op({ op: 'getData', path: '/P/a', watch: true })
  const older = result(reply(5n, 0))
  const newer = result(reply(5n, 0), event(5n, '/P/a'))
  const mixed = programOf(addWatch, oneShot, op(setData))
  const found = explainByRelease(since38, mixed, 2, older, newer)
  expect(found?.name).toBe('watches of different kinds on one path live side by side')
  expect(found?.rest.steps).toEqual([oneShot, op(setData)])
})

test('the watch that 3.8 forgot is found among several of one setWatches2', () => {
  const lists = { data: [], exist: [], child: ['/P/a'], persistent: ['/P'], recursive: ['/P/a'] }
  const setWatches = op({ op: 'setWatches2', relative: 'now', ...lists })
  const newer = result(reply(5n, 0), event(5n, '/P/a'))
  const program = programOf(setWatches, op(setData))
  const found = explainByRelease(since38, program, 1, result(reply(5n, 0)), newer)
  expect(found?.rest.steps).toEqual([op(setData)])
})

test('an event that one side misses is a divergence where there is one kind of watch', () => {
  const newer = result(reply(5n, 0), event(5n, '/P/a'))
  const persistent = programOf(op({ op: 'addWatch', path: '/P/a', mode: 0 }), op(setData))
  expect(explainByRelease(since38, persistent, 1, result(), newer)).toBeUndefined()
  const oneShot = programOf(op({ op: 'getData', path: '/P/a', watch: true }), op(setData))
  expect(explainByRelease(since38, oneShot, 1, result(), newer)).toBeUndefined()
})
