import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytes, connect, type Client } from '@zabra/client'
import { Election, Lock, Queue, ReadWriteLock } from '@zabra/recipes'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { zabraFor, type Zabra } from './support/zabra.ts'

let server: RunningServer
let zabra: Zabra
let client: Client
let folder: string

beforeAll(async () => {
  server = await startServer()
  zabra = zabraFor(server.connectString)
  client = await connect(server.connectString)
})

afterAll(async () => {
  await client.close()
  await server.stop()
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** A program that runs until its file says `go`, and notes when it began and ended. */
function slowProgram(name: string): string[] {
  const gate = join(folder, 'gate')
  const log = join(folder, 'log')
  const script = `echo begin ${name} >>${log}; while [ ! -e ${gate} ]; do sleep 0.02; done; echo end ${name} >>${log}`
  return ['sh', '-c', script]
}
const openGate = (): void => writeFileSync(join(folder, 'gate'), '')
const log = (): string[] => {
  const file = join(folder, 'log')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
const begun = (count: number): Promise<void> => until(() => log().length === count)

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it does not come to be')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const waiters = (path: string) => async (count: number) =>
  until(async () => (await client.children(path).catch(() => [])).length === count)

describe('zabra lock', () => {
  test('runs one program at a time, and gives the lock back', async () => {
    const both = ['a', 'b'].map((name) => zabra('lock', '/l1', '--', ...slowProgram(name)))
    await waiters('/l1')(2)
    await begun(1)
    openGate()
    const codes = (await Promise.all(both)).map(({ code }) => code)
    expect(codes).toEqual([0, 0])
    const [first, end, second, endNext] = log().map((line) => line.split(' '))
    expect([first![0], end![0], second![0], endNext![0]]).toEqual(['begin', 'end', 'begin', 'end'])
    expect(first![1]).toBe(end![1])
    expect(await client.children('/l1')).toEqual([])
  })

  test('hands the token and the path to the program, and its exit code on', async () => {
    const script = 'echo "$ZABRA_LOCK_PATH $ZABRA_LOCK_TOKEN"; exit 3'
    const { code, stdout } = await zabra('lock', '/l2', '--', 'sh', '-c', script)
    expect(code).toBe(3)
    const [path, token] = stdout.trim().split(' ')
    expect(path).toBe('/l2')
    expect(BigInt(token!)).toBeGreaterThan(0n)
  })

  test('with --wait 0 does not wait for a lock that another holds', async () => {
    await using held = await new Lock(client, '/l3').acquire()
    const { code, stderr } = await zabra('lock', '/l3', '--wait', '0', '--', 'true')
    expect([code, stderr]).toEqual([6, expect.stringMatching(/the lock \/l3 is held by another/)])
    expect(held.signal.aborted).toBe(false)
  })

  test('ends the program when its node is deleted', async () => {
    const running = zabra('lock', '/l4', '--', ...slowProgram('a'))
    await waiters('/l4')(1)
    await begun(1)
    const [name] = await client.children('/l4')
    await client.delete(`/l4/${name}`)
    const { code, stderr } = await running
    expect([code, stderr]).toEqual([7, expect.stringMatching(/the lock \/l4 was lost/)])
    expect(log()).toEqual(['begin a'])
  })

  test('readers run together, a writer alone', async () => {
    const readers = ['a', 'b'].map((name) =>
      zabra('lock', '/l5', '--read', '--', ...slowProgram(name)),
    )
    await begun(2)
    const { code } = await zabra('lock', '/l5', '--writer', '--wait', '0', '--', 'true')
    expect(code).toBe(6)
    openGate()
    expect((await Promise.all(readers)).map(({ code: each }) => each)).toEqual([0, 0])
  })

  test('a program that does not exist is named', async () => {
    const { code, stderr } = await zabra('lock', '/l6', '--', 'no-such-program')
    expect([code, stderr]).toEqual([
      7,
      expect.stringMatching(/cannot run no-such-program: there is no such program/),
    ])
  })

  test('a grace longer than the session is refused', async () => {
    const { code, stderr } = await zabra('lock', '/l7', '--grace', '60s', '--', 'true')
    expect([code, stderr]).toEqual([
      7,
      expect.stringMatching(/does not fit into a session timeout/),
    ])
  })
})

test('zabra elect runs one program at a time, and shows who leads', async () => {
  const running = zabra('elect', '/e1', '--id', 'first', '--', ...slowProgram('a'))
  await waiters('/e1')(1)
  const next = zabra('elect', '/e1', '--id', 'second', '--', 'true')
  await waiters('/e1')(2)
  const { stdout } = await zabra('elect', '/e1', '--show', '--json')
  const shown = JSON.parse(stdout) as { leader: { id: string }; candidates: { id: string }[] }
  expect([shown.leader.id, shown.candidates.map(({ id }) => id)]).toEqual(['first', ['second']])
  openGate()
  expect([(await running).code, (await next).code]).toEqual([0, 0])
  expect(await new Election(client, '/e1').leader()).toBeUndefined()
})

test('zabra semaphore lets as many run as there are permits', async () => {
  const running = ['a', 'b'].map((name) =>
    zabra('semaphore', '/s1', '--permits', '2', '--', ...slowProgram(name)),
  )
  await begun(2)
  const third = await zabra('semaphore', '/s1', '--permits', '2', '--wait', '0', '--', 'true')
  expect(third.code).toBe(6)
  openGate()
  expect((await Promise.all(running)).map(({ code }) => code)).toEqual([0, 0])
})

test('zabra barrier holds up until it is lowered', async () => {
  expect((await zabra('barrier', 'raise', '/b1')).code).toBe(0)
  expect((await zabra('barrier', 'wait', '/b1', '--wait', '100ms')).code).toBe(1)
  const waiting = zabra('barrier', 'wait', '/b1', '--json')
  expect((await zabra('barrier', 'lower', '/b1')).code).toBe(0)
  expect(JSON.parse((await waiting).stdout)).toEqual({ path: '/b1', isUp: false })
})

describe('zabra queue', () => {
  test('gives items out in order, and says when there are none', async () => {
    await zabra('queue', 'put', '/q1', 'one')
    await zabra('queue', 'put', '/q1', { stdin: 'two' })
    expect((await zabra('queue', 'size', '/q1')).stdout).toBe('2\n')
    expect((await zabra('queue', 'take', '/q1', '--wait', '0')).stdout).toBe('one\n')
    expect((await zabra('queue', 'take', '/q1', '--wait', '0', '--raw')).stdout).toBe('two')
    const binary = { stdin: new Uint8Array([0xff]) }
    await zabra('queue', 'put', '/q1', '-', binary)
    const taken = await zabra('queue', 'take', '/q1', '--json')
    expect(JSON.parse(taken.stdout)).toEqual({ path: '/q1', item: { data64: '/w==' } })
    expect((await zabra('queue', 'take', '/q1', '--wait', '0')).code).toBe(1)
    expect((await zabra('queue', 'take', '/q1', '--wait', '50ms')).code).toBe(1)
  })

  test('an item whose program fails goes back', async () => {
    await zabra('queue', 'put', '/q2', 'work')
    const script = 'echo "got $ZABRA_QUEUE_ITEM"; exit 9'
    const failed = await zabra('queue', 'take', '/q2', '--', 'sh', '-c', script)
    expect([failed.code, failed.stdout]).toEqual([9, 'got work\n'])
    const done = await zabra('queue', 'take', '/q2', '--', 'sh', '-c', 'exit 0')
    expect(done.code).toBe(0)
    expect(await new Queue(client, '/q2', { codec: bytes }).size()).toBe(0)
  })

  test('the lowest priority comes first', async () => {
    await zabra('queue', 'put', '/q3', 'later', '--priority', '500')
    await zabra('queue', 'put', '/q3', 'sooner', '--priority', '5')
    const { stdout } = await zabra('queue', 'take', '/q3', '--by-priority', '--wait', '0')
    expect(stdout).toBe('sooner\n')
  })
})

describe('zabra watch', () => {
  test('prints changes, with data where asked', async () => {
    await client.create('/w1', 'a')
    const watching = zabra('watch', '/w1', '-R', '--initial', '--data', '-n', '3')
    await until(async () => {
      await client.set('/w1', 'b').catch(() => {})
      await client.create('/w1/c', 'd').catch(() => {})
      return Promise.race([
        watching.then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50)),
      ])
    })
    const { stdout } = await watching
    expect(stdout.split('\n')[0]).toMatch(/^(initial|changed) \/w1/)
    const first = await zabra('watch', '/w1', '--initial', '--data', '-n', '1', '--json')
    expect(JSON.parse(first.stdout)).toMatchObject({ type: 'initial', path: '/w1', data: 'b' })
  })

  test('runs a program with the change in its environment', async () => {
    await client.create('/w2', 'hello')
    const script = 'echo "$ZABRA_WATCH_TYPE $ZABRA_WATCH_PATH $ZABRA_WATCH_DATA"'
    const { stdout } = await zabra('watch', '/w2', '--initial', '-n', '1', '--', 'sh', '-c', script)
    expect(stdout).toBe('initial /w2 hello\n')
  })
})

describe('zabra locks', () => {
  test('shows holders and waiters of each kind and layout, in order', async () => {
    const make = (path: string, data: string) =>
      client.create(path, data, { ephemeral: true, sequential: true })
    for (const parent of ['/f', '/f/curator', '/f/kazoo', '/f/rw', '/f/sem', '/f/sem/leases'])
      await client.create(parent, '')
    await make('/f/curator/_c_a5c6-lock-', '10.0.0.1')
    await make('/f/curator/_c_0b11-lock-', '10.0.0.2')
    await make('/f/kazoo/abcd__lock__', 'host-a')
    await make('/f/sem/leases/_c_77-lease-', 'host-b')
    const lock = new ReadWriteLock(client, '/f/rw', { id: 'me' })
    const reader = await lock.read.acquire()
    const second = await lock.read.acquire()
    const ending = new AbortController()
    const writer = lock.write.acquire({ signal: ending.signal }).catch(() => undefined)
    await waiters('/f/rw')(3)

    const { stdout } = await zabra('locks', '/f', '--json')
    const shown = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Shown)
    const brief = shown.map(({ path, kind, holders, waiting }) => [
      path,
      kind,
      holders.length,
      waiting.length,
    ])
    expect(brief).toEqual([
      ['/f/curator', 'lock', 1, 1],
      ['/f/kazoo', 'lock', 1, 0],
      ['/f/rw', 'read/write lock', 2, 1],
      ['/f/sem/leases', 'semaphore', 1, 0],
    ])
    expect(shown[0]!.holders[0]).toMatchObject({ id: '10.0.0.1', library: 'zabra or Curator' })
    expect(shown[1]!.holders[0]).toMatchObject({ id: 'host-a', library: 'kazoo' })
    expect(BigInt(shown[2]!.holders[0]!.token)).toBe(reader.token)
    const text = (await zabra('locks', '/f')).stdout
    expect(text).toMatch(/\/f\/curator {2}lock\n {2}holds .*10\.0\.0\.1.*\n {2}waits .*10\.0\.0\.2/)
    expect((await zabra('locks', '/f/none', '--check')).code).toBe(4)
    expect((await zabra('locks', '/f', '--check')).code).toBe(1)
    ending.abort()
    await writer
    await reader.release()
    await second.release()
  })

  interface Shown {
    path: string
    kind: string
    holders: { id: string; library: string; token: string }[]
    waiting: unknown[]
  }
})

test('zabra ephemerals lists them, and counts them by session', async () => {
  await client.create('/eph', '')
  await client.create('/eph/a', '', { ephemeral: true })
  await client.create('/eph/b', '', { ephemeral: true })
  await client.create('/eph/c', '')
  const session = `0x${BigInt.asUintN(64, client.session!.id).toString(16)}`
  const { stdout } = await zabra('ephemerals', '/eph', '--json')
  const paths = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { path: string }).path)
  expect(paths).toEqual(['/eph/a', '/eph/b'])
  const counted = await zabra('ephemerals', '/eph', '--by-session', '--json')
  expect(JSON.parse(counted.stdout)).toEqual([{ session, nodes: 2 }])
  expect((await zabra('ephemerals', '/eph', '--session', '0x1')).stdout).toBe('')
})
