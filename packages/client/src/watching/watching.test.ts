import { expect, test } from 'vitest'
import { SessionExpiredError } from '../errors.ts'
import type { Change } from './change.ts'
import type { Stat } from '../stat.ts'
import { LiveWatching, type WatchOptions, type WatchPort } from './watching.ts'

const brief = ({ type, path, zxid, missed }: Change): string =>
  `${type} ${path} ${zxid ?? '?'}${missed ? ' missed' : ''}`

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A node, by the transactions that created it, changed it, and changed its children. */
const stat = (czxid: bigint, mzxid = czxid, pzxid = czxid): Stat =>
  ({ czxid, mzxid, pzxid }) as Stat

/** A watch on /a whose reads are answered by the test, with all its events. */
async function watched(options: WatchOptions = {}): Promise<{
  watching: LiveWatching
  /** Answers the pending read. */
  show: (found: Stat | undefined) => Promise<void>
  /** Events since the last time. */
  told: () => Promise<string[]>
}> {
  const looks: ((found: Stat | undefined) => void)[] = []
  const port: WatchPort = {
    add: () => Promise.resolve(),
    remove: () => {},
    exists: () => new Promise((resolve) => looks.push(resolve)),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', options)
  const changes: string[] = []
  void (async () => {
    for await (const change of watching) changes.push(brief(change))
  })()
  await turn()
  return {
    watching,
    show: async (found) => {
      expect(looks).toHaveLength(1)
      looks.shift()!(found)
      await turn()
    },
    told: async () => {
      await turn()
      return changes.splice(0)
    },
  }
}

// --- events say nothing about the rest of a node -----------------------------------------------

test('a change of children during the first read does not replace the state of the node', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'children', path: '/a', zxid: 7n })
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual(['children /a 7', 'initial /a 5'])
  watching.resumed()
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual([])
})

test('a change of data during the first read does not replace the state of its children', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 5n))
  expect(await told()).toEqual(['changed /a 7', 'children /a 5'])
})

test('creating or deleting a node during the first read is reported once', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'deleted', path: '/a', zxid: 7n })
  watching.event({ type: 'created', path: '/a', zxid: 8n })
  await show(stat(3n))
  expect(await told()).toEqual(['deleted /a 7', 'created /a 8'])
})

test('a change of children after a reconnection does not hide a missed change of data', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'children', path: '/a', zxid: 7n })
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual(['children /a 7 missed', 'changed /a 5 missed'])
})

test('a change of data after a reconnection does not hide a missed change of children', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 5n))
  expect(await told()).toEqual(['changed /a 7 missed', 'children /a 5 missed'])
})

test('changes of children and data after a reconnection do not hide an earlier deletion', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'children', path: '/a', zxid: 7n })
  await show(stat(5n, 5n, 7n))
  expect(await told()).toEqual(['children /a 7 missed', 'created /a 5 missed'])
})

test.each([
  ['children', ['children /a 7 missed', 'created /a 5 missed']],
  ['changed', ['changed /a 7 missed', 'children /a 6 missed']],
] as const)(
  'a node that came while the connection was lost is told of in whole after %s',
  async (type, expected) => {
    const { watching, show, told } = await watched()
    await show(undefined)
    watching.resumed()
    watching.event({ type, path: '/a', zxid: 7n })
    await show(type === 'children' ? stat(5n, 5n, 7n) : stat(5n, 7n, 6n))
    expect(await told()).toEqual(expected)
  },
)

test('events from before a lost first read are not taken for the current state', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'changed', path: '/a', zxid: 5n })
  watching.resumed()
  // Sent over the old connection, answered over the new one.
  await show(stat(3n, 7n))
  expect(await told()).toEqual(['changed /a 5'])
  await show(stat(3n, 7n))
  expect(await told()).toEqual(['changed /a 7 missed'])
})

test('a node reported deleted before a lost first read, and created again, is reported', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'deleted', path: '/a', zxid: 5n })
  watching.resumed()
  await show(stat(7n))
  await show(stat(7n))
  expect(await told()).toEqual(['deleted /a 5', 'created /a 7 missed'])
})

test('events from before a lost first read are not repeated as the initial state', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'changed', path: '/a', zxid: 5n })
  watching.resumed()
  await show(undefined)
  await show(stat(3n, 5n, 3n))
  expect(await told()).toEqual(['changed /a 5', 'children /a 3'])
})

test('nor is a node that was reported deleted', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'deleted', path: '/a', zxid: 5n })
  watching.resumed()
  await show(undefined)
  await show(undefined)
  expect(await told()).toEqual(['deleted /a 5'])
})

// --- missed changes ----------------------------------------------------------------------------

test('the first change after a reconnection is marked, as others may have been missed', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  watching.event({ type: 'changed', path: '/a', zxid: 8n })
  await show(stat(3n, 8n, 3n))
  watching.event({ type: 'changed', path: '/a', zxid: 9n })
  expect(await told()).toEqual(['changed /a 7 missed', 'changed /a 8', 'changed /a 9'])
})

test('the same for a node that is deleted and created again', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'deleted', path: '/a', zxid: 7n })
  watching.event({ type: 'created', path: '/a', zxid: 8n })
  watching.event({ type: 'children', path: '/a', zxid: 9n })
  await show(stat(8n, 8n, 9n))
  expect(await told()).toEqual(['deleted /a 7 missed', 'created /a 8', 'children /a 9'])
})

test('each connection that is lost before the comparison ends is a gap of its own', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 9n })
  await show(stat(3n, 9n, 3n))
  await show(stat(3n, 9n, 3n))
  expect(await told()).toEqual(['changed /a 7 missed', 'changed /a 9 missed'])
})

test('the first change in the next session is marked', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.lost(new SessionExpiredError(false))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await turn()
  watching.event({ type: 'changed', path: '/a', zxid: 8n })
  await show(stat(3n, 8n, 3n))
  expect(await told()).toEqual([
    'sessionExpired /a ? missed',
    'changed /a 7 missed',
    'changed /a 8',
  ])
})

test('nothing counts as missed while a watch begins', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 3n))
  watching.event({ type: 'children', path: '/a', zxid: 8n })
  expect(await told()).toEqual(['changed /a 7', 'children /a 8'])
})

test('nor if there was no connection when it was requested', async () => {
  let answer = (): void => {}
  const port: WatchPort = {
    add: () => new Promise((resolve) => (answer = resolve)),
    remove: () => {},
    exists: () => Promise.resolve(stat(3n)),
    children: () => Promise.reject(new Error('not asked')),
  }
  const watching = new LiveWatching(port, '/a', {})
  watching.resumed()
  answer()
  await turn()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  expect(brief((await watching.next()).value!)).toBe('changed /a 7')
})

// --- whole trees -------------------------------------------------------------------------------

test('a node read before its reported deletion is not taken for a new node', async () => {
  const answers = new Map<string, (names: string[]) => void>()
  const port: WatchPort = {
    add: () => Promise.resolve(),
    remove: () => {},
    exists: () => Promise.reject(new Error('not asked')),
    children: (path) =>
      new Promise((resolve) =>
        answers.set(path, (children) => resolve({ children, stat: stat(3n) })),
      ),
  }
  const answer = async (path: string, ...names: string[]): Promise<void> => {
    answers.get(path)!(names)
    await turn()
  }
  const watching = new LiveWatching(port, '/a', { recursive: true })
  await turn()
  await answer('/a', 'x', 'y')
  await answer('/a/x')
  await answer('/a/y')
  watching.resumed()
  await answer('/a', 'x', 'y')
  await answer('/a/x')
  watching.event({ type: 'deleted', path: '/a/x', zxid: 7n })
  await answer('/a/y')
  // The connection is lost once more, and this read is from before that.
  watching.resumed()
  await answer('/a', 'y')
  watching.resumed()
  await answer('/a/y')
  await answer('/a', 'y', 'z')
  await answer('/a/y')
  expect(watching.isDrained).toBe(false)
  await answer('/a/z')
  const changes = [await watching.next(), await watching.next()]
  expect(changes.map(({ value }) => brief(value!))).toEqual([
    'deleted /a/x 7 missed',
    'created /a/z 3 missed',
  ])
  void watching.next()
  expect(watching.isDrained).toBe(true)
})

test('for a slow reader, nodes that come and go do not pile up', async () => {
  const port: WatchPort = {
    add: () => Promise.resolve(),
    remove: () => {},
    exists: () => Promise.reject(new Error('not asked')),
    children: (path) => Promise.resolve({ children: path === '/a' ? ['old'] : [], stat: stat(3n) }),
  }
  const watching = new LiveWatching(port, '/a', { recursive: true })
  await watching.ready
  watching.event({ type: 'deleted', path: '/a/old', zxid: 4n })
  for (let i = 0; i < 100; i++) {
    watching.event({ type: 'created', path: `/a/${i}`, zxid: 5n })
    watching.event({ type: 'deleted', path: `/a/${i}`, zxid: 6n })
  }
  watching.event({ type: 'created', path: '/a/0', zxid: 7n })
  const told: string[] = []
  void (async () => {
    for await (const change of watching) told.push(brief(change))
  })()
  await watching.drained()
  expect(told).toEqual(['deleted /a/old 4', 'deleted /a/99 6 missed', 'created /a/0 7'])
})

test('a node known only by its creation was not created again (servers before 3.9)', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n, 5n))
  watching.event({ type: 'changed', path: '/a', zxid: undefined })
  watching.resumed()
  await show(stat(3n, 6n))
  expect(await told()).toEqual(['changed /a ?', 'changed /a 6 missed'])
  watching.event({ type: 'changed', path: '/a', zxid: undefined })
  watching.resumed()
  await show(stat(8n))
  expect(await told()).toEqual(['changed /a ?', 'created /a 8 missed'])
})
