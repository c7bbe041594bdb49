import { expect, test } from 'vitest'
import { SessionExpiredError } from '../errors.ts'
import type { Change } from './change.ts'
import type { Stat } from '../stat.ts'
import { LiveWatching, type WatchOptions, type WatchPort } from './watching.ts'

const brief = ({ type, path, zxid, missed }: Change): string =>
  `${type} ${path} ${zxid ?? '?'}${missed ? ' missed' : ''}`

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A node by the transactions that made it, changed it, and changed its children. */
const stat = (czxid: bigint, mzxid = czxid, pzxid = czxid): Stat =>
  ({ czxid, mzxid, pzxid }) as Stat

/** A watching of /a whose looks are answered by the test, and all that it tells. */
async function watched(options: WatchOptions = {}): Promise<{
  watching: LiveWatching
  /** Answers the look that is on its way. */
  show: (found: Stat | undefined) => Promise<void>
  /** What was told since the last time. */
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

// --- what is told by events says nothing of the rest -------------------------------------------

test('children that change while a node is first looked at do not stand for how it is', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'children', path: '/a', zxid: 7n })
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual(['children /a 7', 'initial /a 5'])
  watching.resumed()
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual([])
})

test('data that changes while a node is first looked at does not stand for its children', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 5n))
  expect(await told()).toEqual(['changed /a 7', 'children /a 5'])
})

test('a node that comes or goes while it is first looked at is told of by that alone', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'deleted', path: '/a', zxid: 7n })
  watching.event({ type: 'created', path: '/a', zxid: 8n })
  await show(stat(3n))
  expect(await told()).toEqual(['deleted /a 7', 'created /a 8'])
})

test('children that change after a reconnection do not hide what was missed of the data', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'children', path: '/a', zxid: 7n })
  await show(stat(3n, 5n, 7n))
  expect(await told()).toEqual(['children /a 7 missed', 'changed /a 5 missed'])
})

test('data that changes after a reconnection does not hide what was missed of the children', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 5n))
  expect(await told()).toEqual(['changed /a 7 missed', 'children /a 5 missed'])
})

test('children and data that change after a reconnection hide no deletion before that', async () => {
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

test('what was told of before a watch lost its first look is not taken for how it is now', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'changed', path: '/a', zxid: 5n })
  watching.resumed()
  // Answered over the new connection, and asked over the old.
  await show(stat(3n, 7n))
  expect(await told()).toEqual(['changed /a 5'])
  await show(stat(3n, 7n))
  expect(await told()).toEqual(['changed /a 7 missed'])
})

test('a node told to be gone before a watch lost its first look, and made anew, is told of', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'deleted', path: '/a', zxid: 5n })
  watching.resumed()
  await show(stat(7n))
  await show(stat(7n))
  expect(await told()).toEqual(['deleted /a 5', 'created /a 7 missed'])
})

test('what was told of before a watch lost its first look is not told again as how it was', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'changed', path: '/a', zxid: 5n })
  watching.resumed()
  await show(undefined)
  await show(stat(3n, 5n, 3n))
  expect(await told()).toEqual(['changed /a 5', 'children /a 3'])
})

test('nor is a node that was told to be gone', async () => {
  const { watching, show, told } = await watched({ initial: true })
  watching.event({ type: 'deleted', path: '/a', zxid: 5n })
  watching.resumed()
  await show(undefined)
  await show(undefined)
  expect(await told()).toEqual(['deleted /a 5'])
})

// --- missed ------------------------------------------------------------------------------------

test('the first change after a reconnection is marked, as others may have been before it', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  watching.event({ type: 'changed', path: '/a', zxid: 8n })
  await show(stat(3n, 8n, 3n))
  watching.event({ type: 'changed', path: '/a', zxid: 9n })
  expect(await told()).toEqual(['changed /a 7 missed', 'changed /a 8', 'changed /a 9'])
})

test('the same for a node that is deleted and made anew', async () => {
  const { watching, show, told } = await watched()
  await show(stat(3n))
  watching.resumed()
  watching.event({ type: 'deleted', path: '/a', zxid: 7n })
  watching.event({ type: 'created', path: '/a', zxid: 8n })
  watching.event({ type: 'children', path: '/a', zxid: 9n })
  await show(stat(8n, 8n, 9n))
  expect(await told()).toEqual(['deleted /a 7 missed', 'created /a 8', 'children /a 9'])
})

test('each connection that is lost before it could be looked over is a gap of its own', async () => {
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

test('while a watch begins there is nothing to be missed', async () => {
  const { watching, show, told } = await watched()
  watching.event({ type: 'changed', path: '/a', zxid: 7n })
  await show(stat(3n, 7n, 3n))
  watching.event({ type: 'children', path: '/a', zxid: 8n })
  expect(await told()).toEqual(['changed /a 7', 'children /a 8'])
})

test('nor where there was no connection when it was asked for', async () => {
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

test('what was seen before it was told to be gone is not taken for a new node', async () => {
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
  // The connection is lost once more, and what is seen now is from before that.
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

test('who does not read is not kept a change for every node that came and went', async () => {
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

test('a node that one knows by its birth alone was not made anew (servers before 3.9)', async () => {
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
