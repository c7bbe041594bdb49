import { expect, test } from 'vitest'
import { useServer } from './support/server.ts'
import { expire } from './support/trouble.ts'
import { Lock } from '../src/lock.ts'
import { ReadWriteLock } from '../src/read-write-lock.ts'
import { RevocableLock } from '../src/revocable-lock.ts'
import { Semaphore } from '../src/semaphore.ts'
import { SimpleLock } from '../src/simple-lock.ts'

const fixture = useServer()

test('run does the work under the lock, and releases it', async () => {
  const client = await fixture.open()
  const lock = new Lock(client, '/run/lock')
  const rights = [
    lock,
    new SimpleLock(client, '/run/simple'),
    new Semaphore(client, '/run/semaphore', 1),
    new ReadWriteLock(client, '/run/rw').write,
    new RevocableLock(client, '/run/revocable').read,
  ]
  for (const right of rights) {
    const result = await right.run(async (held) => {
      await held.guard(client.transaction().create('/run/x').delete('/run/x')).commit()
      return held.token
    })
    expect(result).toBeGreaterThan(0n)
  }
  expect(await lock.queue()).toEqual([])
  await expect(lock.run(() => Promise.reject(new Error('own')))).rejects.toThrow('own')
  expect(await lock.queue()).toEqual([])
  await lock.run((held) => held.release())
})

test('run rejects if the lock was lost before the work ended', async () => {
  const client = await fixture.open()
  const lock = new Lock(client, '/run/lost')
  const lost = lock.run(() => expire(client, fixture.connectString))
  await expect(lost).rejects.toMatchObject({ code: 'lost' })
})

test('a contender is named by host and process by default', async () => {
  const client = await fixture.open()
  const held = await new Lock(client, '/run/named').acquire()
  const { data } = await client.get(held.path)
  expect(Buffer.from(data).toString()).toMatch(new RegExp(`:${process.pid}$`))
  await held.release()
})
