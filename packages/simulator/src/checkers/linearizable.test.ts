import { expect, test } from 'vitest'
import type { Request, Result } from '../client/request.ts'
import { History } from '../history/history.ts'
import { emptyTree } from '../model/state.ts'
import { execute } from '../model/model.ts'
import { checkLinearizable } from './linearizable.ts'
import type { Timeline } from './timeline.ts'

/** A timeline without any information about order. */
const silent: Timeline = { moments: [], placeOf: () => undefined, sessions: new Map() }

const set = (data: string): Request => ({ op: 'setData', path: '/a', data, version: -1 })
const get: Request = { op: 'getData', path: '/a', watch: false }

/** The tree after this many writes to `/a`; the first write is `v1`. */
function answerAfter(writes: number, request: Request): Result {
  const by = { session: 1n, identities: [], zxid: 0n, time: 0n }
  const base = { op: 'create', kind: 'create', acl: 'open', flags: 0 } as const
  let { tree } = execute(emptyTree, { ...base, path: '/a', data: '' }, by)
  for (let i = 1; i <= writes; i++) tree = execute(tree, set(`v${i}`), by).tree
  return execute(tree, request, by).result
}

class Played {
  readonly history = new History()
  private xid = 0

  constructor() {
    const base = { op: 'create', kind: 'create', acl: 'open', flags: 0 } as const
    this.call('writer', { ...base, path: '/a', data: '' })({ err: 0, path: '/a' })
  }

  /** Records a call; the returned function records its answer. */
  call(client: string, request: Request): (result: Result) => void {
    const { history } = this
    const operation = {
      client,
      session: BigInt(client.length),
      xid: ++this.xid,
      request,
      identities: [],
      called: history.next(),
      calledMs: 0,
    }
    history.operations.push(operation)
    return (result) => Object.assign(operation, { result, returned: history.next() })
  }

  problems(isFromThePast: boolean): string[] {
    const found: string[] = []
    checkLinearizable(this.history, silent, isFromThePast, (what) => found.push(what))
    return found
  }
}

function written(): Played {
  const played = new Played()
  played.call('writer', set('v1'))(answerAfter(0, set('v1')))
  played.call('writer', set('v2'))(answerAfter(1, set('v2')))
  return played
}

test('a read of the last write is explained', () => {
  const played = written()
  played.call('reader', get)(answerAfter(2, get))
  expect(played.problems(false)).toEqual([])
})

test('a read from the past is explained only where servers may answer from it', () => {
  const played = written()
  played.call('reader', get)(answerAfter(1, get))
  expect(played.problems(true)).toEqual([])
  expect(played.problems(false)).toHaveLength(1)
})

test('the reads of one client never go back', () => {
  const played = written()
  played.call('reader', get)(answerAfter(2, get))
  played.call('reader', get)(answerAfter(1, get))
  expect(played.problems(true)).toHaveLength(1)
})

test('a client reads its own writes', () => {
  const played = written()
  played.call('writer', get)(answerAfter(1, get))
  expect(played.problems(true)).toHaveLength(1)
})

test('no read shows a later request', () => {
  const played = new Played()
  played.call('reader', get)(answerAfter(1, get))
  played.call('writer', set('v1'))(answerAfter(0, set('v1')))
  expect(played.problems(true)).toHaveLength(1)
})

test('a write without an answer happened or did not', () => {
  const played = new Played()
  played.call('writer', set('v1'))
  played.call('reader', get)(answerAfter(0, get))
  played.call('reader', get)(answerAfter(1, get))
  expect(played.problems(true)).toEqual([])
  played.call('reader', get)(answerAfter(0, get))
  expect(played.problems(true)).toHaveLength(1)
})
