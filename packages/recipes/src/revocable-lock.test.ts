import { aborted, untilChildren } from '@zabra/testing'
import { expect, test } from 'vitest'
import { longerThanTests, useServer } from '../test/support/server.ts'
import { openProxied, outlived, roundTrips } from '../test/support/trouble.ts'
import { RefusedError, RevocableLock } from './revocable-lock.ts'

const fixture = useServer()

test('holders that are asked release the lock', async () => {
  const [first, second, third] = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  let asked = 0
  const onAsked = (held: { release(): Promise<void> }): void => {
    asked++
    void held.release()
  }
  const readers = await Promise.all(
    [first!, second!].map((client) =>
      new RevocableLock(client, '/polite').read.acquire({ onAsked }),
    ),
  )
  const held = await new RevocableLock(third!, '/polite').write.acquire({ revoke: true })
  expect(asked).toBe(2)
  for (const reader of readers) {
    expect(reader.signal.reason).toMatchObject({ reason: 'released' })
    expect(held.token).toBeGreaterThan(reader.token)
  }
  await held.release()
})

test('without `revoke` nobody is asked', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const reader = await new RevocableLock(first, '/patient').read.acquire({
    onAsked: () => expect.unreachable(),
  })
  const waiting = new RevocableLock(second, '/patient').write.acquire()
  await untilChildren(first, '/patient', 2)
  await Promise.all([first.sync(), second.sync()])
  await reader.release()
  await (await waiting).release()
})

test('a holder may refuse, and the requester is told or continues to wait', async () => {
  const first = await fixture.open()
  const pending = new Set<number>()
  const timer: typeof first.host.timer = (ms, run) => {
    pending.add(ms)
    const cancel = first.host.timer(ms, run)
    return () => {
      pending.delete(ms)
      cancel()
    }
  }
  const second = await fixture.open({ host: Object.assign(Object.create(first.host), { timer }) })
  const refusals: Promise<void>[] = []
  const reader = await new RevocableLock(first, '/stubborn').read.acquire({
    onAsked: (held) => refusals.push(held.refuse()),
  })
  const lock = new RevocableLock(second, '/stubborn')
  const rejected = lock.write.acquire({ revoke: { ifRefused: 'reject', removeAfterMs: 60_000 } })
  await expect(rejected).rejects.toBeInstanceOf(RefusedError)
  expect(await untilChildren(first, '/stubborn', 1)).toHaveLength(1)
  const waiting = lock.write.acquire({ revoke: { removeAfterMs: 60_000 } })
  await untilRefused(2)
  await roundTrips(second, 3)
  // The time after which the reader would be removed no longer runs.
  expect([...pending].filter((ms) => ms > 50_000)).toEqual([])
  expect(reader.signal.aborted).toBe(false)
  await reader.release()
  await (await waiting).release()

  async function untilRefused(count: number): Promise<void> {
    while (refusals.length < count) await first.sync()
    await Promise.all(refusals)
  }
})

test('a holder that does not answer is removed when its time is over, and is told', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const deaf = await new RevocableLock(first, '/deaf').read.acquire()
  const lost = aborted(deaf.signal)
  const held = await new RevocableLock(second, '/deaf').write.acquire({
    revoke: { removeAfterMs: 50 },
  })
  expect(await lost).toMatchObject({ reason: 'deleted' })
  expect(held.token).toBeGreaterThan(deaf.token)
  const late = deaf.guard(first.transaction().create('/deaf-late')).commit()
  await expect(late).rejects.toMatchObject({ code: 'lost', reason: 'deleted' })
})

test('a refusal does not help if the limit applies to everybody', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const reader = await new RevocableLock(first, '/forced').read.acquire({
    onAsked: (held) => void held.refuse(),
  })
  const revoke = { removeAfterMs: 50, evenIfRefused: true }
  await using held = await new RevocableLock(second, '/forced').write.acquire({ revoke })
  expect(held.token).toBeGreaterThan(reader.token)
  expect(await aborted(reader.signal)).toMatchObject({ reason: 'deleted' })
})

test('a new holder is asked too while somebody requests the lock', async () => {
  const [first, second, third] = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  const asked: string[] = []
  const polite = (name: string) => ({
    onAsked: (held: { release(): Promise<void> }) => {
      asked.push(name)
      void held.release()
    },
  })
  const one = await new RevocableLock(first!, '/chain').write.acquire()
  const two = new RevocableLock(second!, '/chain').write.acquire(polite('two'))
  await untilChildren(first!, '/chain', 2)
  const three = new RevocableLock(third!, '/chain').write.acquire({ revoke: true })
  await untilChildren(first!, '/chain', 3)
  await one.release()
  const middle = await two
  await (await three).release()
  expect(asked).toEqual(['two'])
  expect(middle.signal.reason).toMatchObject({ reason: 'released' })
})

test('a holder can be asked with the data that Curator writes', async () => {
  const [first, second] = await Promise.all([fixture.open(), fixture.open()])
  const asked = new Promise<void>((resolve) => {
    void new RevocableLock(first, '/curator').write.acquire({ onAsked: () => resolve() })
  })
  const [name] = await untilChildren(second, '/curator', 1)
  await second.set(`/curator/${name}`, '__REVOKE__')
  await asked
})

test('a holder whose reply is slow is asked once, even if another one releases in the meantime', async () => {
  const [first, second, third] = await Promise.all(Array.from({ length: 3 }, () => fixture.open()))
  const quick = await new RevocableLock(first!, '/slow').read.acquire({
    onAsked: (held) => void held.release(),
  })
  let asked = 0
  const slow = await new RevocableLock(second!, '/slow').read.acquire({ onAsked: () => asked++ })
  const set = third!.set.bind(third!) as (...args: unknown[]) => Promise<never>
  third!.set = async (...args: unknown[]): Promise<never> => {
    const [path, , { signal }] = args as [string, string, { signal: AbortSignal }]
    const stat = await set(...args)
    if (path === slow.path) {
      // The reply comes when the other one has gone, and the requester has noticed.
      await quickIsGone()
      await roundTrips(third!, 2)
      signal.throwIfAborted()
    }
    return stat
  }
  const acquiring = new RevocableLock(third!, '/slow').write.acquire({ revoke: true })
  await quickIsGone()
  await roundTrips(third!, 10)
  await roundTrips(second!, 1)
  await slow.release()
  await (await acquiring).release()
  expect(asked).toBe(1)

  async function quickIsGone(): Promise<void> {
    while ((await second!.exists(quick.path)) !== undefined) await roundTrips(second!, 1)
  }
})

test('a refusal with a lost reply is no error', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const asker = await fixture.open()
  let refusing: Promise<void> | undefined
  const holder = await new RevocableLock(client, '/refused-unheard').read.acquire({
    lostOn: 'expired',
    onAsked: (held) => {
      proxy.hold({ direction: 'toClient' })
      refusing = held.refuse()
    },
  })
  const asking = new RevocableLock(asker, '/refused-unheard').write.acquire({
    revoke: { ifRefused: 'reject' },
  })
  await expect(asking).rejects.toBeInstanceOf(RefusedError)
  proxy.reset()
  await proxy.heal()
  await refusing
  expect(holder.signal.aborted).toBe(false)
})

test('a refusal waits no longer than its deadline', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, {
    sessionTimeoutMs: longerThanTests,
  })
  const asker = await fixture.open()
  let isAsked = (): void => {}
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  const holder = await new RevocableLock(client, '/refused-in-time').read.acquire({
    onAsked: isAsked,
  })
  await asker.set(holder.path, '__REVOKE__')
  await asked
  const late = await outlived(proxy, (limits) => holder.refuse(limits))
  expect(late).toMatchObject({ code: 'timeout', mayHaveHappened: true })
  const givenUp = await outlived(proxy, ({ timeoutMs }) =>
    holder.refuse({ signal: AbortSignal.timeout(timeoutMs) }),
  )
  expect(givenUp).toBeInstanceOf(DOMException)
})

test('a closed client has nothing to refuse', async () => {
  const [client, asker] = await Promise.all([fixture.open(), fixture.open()])
  let isAsked = (): void => {}
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  const holder = await new RevocableLock(client, '/refused-late').read.acquire({ onAsked: isAsked })
  await asker.set(holder.path, '__REVOKE__')
  await asked
  await client.close()
  await holder.refuse()
})
