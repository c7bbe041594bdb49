import type { Client } from '@zabra/client'
import { hold, type Held } from '@zabra/recipes'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../support/testing.ts'
import { paths, prepare } from './layout.ts'
import { Master, type MasterOptions } from './master.ts'
import { Submitter, TaskFailedError } from './submitter.ts'
import { Worker, type Assignment, type Work } from './worker.ts'

const { tree } = useServer()

test('a task is assigned, done, and its result learned', async () => {
  const { open, submitter } = await system()
  start(await open(), double)
  const id = await submitter.submit(21)
  expect(await submitter.result(id)).toBe(42)
})

test('an error of the work is the result of the task', async () => {
  const { open, submitter } = await system()
  start(await open(), () => Promise.reject(new Error('cannot be done')))
  const failure = await submitter.result(await submitter.submit(1)).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(TaskFailedError)
  expect(failure).toHaveProperty('message', 'cannot be done')
})

test('tasks wait for a worker, and a worker has only so many at a time', async () => {
  const { open, submitter } = await system({ tasksPerWorkerMax: 2 })
  const ids = await Promise.all([1, 2, 3, 4, 5].map((input) => submitter.submit(input)))
  const slow = new Slow()
  let most = 0
  start(await open(), async (assignment) => {
    const output = slow.work(assignment)
    most = Math.max(most, slow.count)
    return output
  })
  // A task is finished only when the worker has another one as well, as long as there is one.
  let [first, second] = [await slow.begun(), await slow.begun()]
  for (let left = ids.length - 2; left > 0; left--) {
    first.finish('done')
    ;[first, second] = [second, await slow.begun()]
  }
  first.finish('done')
  second.finish('done')
  await Promise.all(ids.map((id) => submitter.result(id)))
  expect(most).toBe(2)
})

test('the same id handed in twice is one task', async () => {
  const { open, submitter } = await system()
  let times = 0
  start(await open(), () => Promise.resolve(++times))
  const id = await submitter.submit('x', 'order-4711')
  expect(await submitter.result(id)).toBe(1)
  expect(await submitter.submit('x', 'order-4711')).toBe(id)
  expect(await submitter.result(id)).toBe(1)
})

test('a task can be forgotten when it has a result, not before', async () => {
  const { open, submitter, client } = await system()
  const slow = new Slow()
  start(await open(), slow.work)
  const id = await submitter.submit('x')
  const begun = await slow.begun()
  await expect(submitter.forget(id)).rejects.toThrow('badVersion')
  begun.finish('done')
  await submitter.result(id)
  await submitter.forget(id)
  expect(await client.exists(paths.status(id))).toBeUndefined()
})

test('a task of a dead worker is given to another, and the dead one cannot report', async () => {
  const { open, openProxied, submitter, client } = await system()
  const { proxy, client: doomed } = await openProxied()
  const slow = new Slow()
  start(doomed, slow.work)
  const id = await submitter.submit('x')
  const first = await slow.begun()
  proxy.cut()
  start(await open(), ({ token }) => Promise.resolve(`by the second, ${token > first.token}`))
  expect(await submitter.result(id)).toBe('by the second, true')
  await aborted(first.signal)
  first.finish('by the first')
  await proxy.heal()
  await doomed.connected()
  await doomed.sync()
  expect(await submitter.result(id)).toBe('by the second, true')
  expect(await client.children(paths.tasks)).toEqual([])
})

test('a worker that is only cut off for a moment keeps its task and does it once', async () => {
  const { openProxied, submitter } = await system()
  const { proxy, client: unlucky } = await openProxied({ sessionTimeoutMs: 2000 })
  const slow = new Slow()
  start(unlucky, slow.work)
  const id = await submitter.submit('x')
  const begun = await slow.begun()
  proxy.reset()
  begun.finish('once')
  expect(await submitter.result(id)).toBe('once')
  expect(slow.total).toBe(1)
})

test('a worker that is asked to stop finishes what it has begun', async () => {
  const { open, submitter } = await system()
  const slow = new Slow()
  const first = start(await open(), slow.work)
  const id = await submitter.submit('x')
  const begun = await slow.begun()
  const stopped = first.stop()
  begun.finish('by the first')
  await stopped
  expect(await submitter.result(id)).toBe('by the first')
  start(await open(), () => Promise.resolve('by the second'))
  expect(await submitter.result(await submitter.submit('y'))).toBe('by the second')
})

test('a worker whose presence is deleted gives up its task, and comes back', async () => {
  const { open, submitter, client } = await system()
  const slow = new Slow()
  start(await open(), slow.work)
  const id = await submitter.submit('x')
  const first = await slow.begun()
  await client.delete(paths.worker(first.worker))
  await aborted(first.signal)
  first.finish('too late')
  const second = await slow.begun()
  expect(second.worker).not.toBe(first.worker)
  second.finish('in time')
  expect(await submitter.result(id)).toBe('in time')
})

test('a task that takes every worker down with it fails in the end', async () => {
  const { open, submitter } = await system({ lossesMax: 2 })
  const id = await submitter.submit('poison')
  for (let round = 0; round < 2; round++) {
    const client = await open()
    start(client, () => client.close())
  }
  await expect(submitter.result(id)).rejects.toThrow('2 workers were lost with it')
})

test('a master that was deposed without knowing it changes nothing', async () => {
  const { open, openProxied } = await tree()
  const { proxy, client: old } = await openProxied()
  await prepare(old)
  const leadership = await lead(old)
  proxy.cut()
  await aborted(leadership.signal)
  await new Promise<void>((resolve) => {
    old.onState(({ name }) => {
      if (name === 'expired') resolve()
    })
  })
  await proxy.heal()
  const other = await open()
  // The server may notice a moment later than the client; until then no other master can lead.
  await new Promise<void>((resolve, reject) => {
    const watch = (): void => resolve()
    other.exists(leadership.path, { watch }).then((stat) => stat === undefined && resolve(), reject)
  })
  start(other, double)
  const submitter = new Submitter(other)
  const id = await submitter.submit(21)
  await new Master(old, leadership).sweep()
  expect(await other.children(paths.tasks)).toEqual([id])

  const client = await open()
  const running = new Master(client, await lead(client)).run()
  expect(await submitter.result(id)).toBe(42)
  await client.close()
  await running
})

// --- the cast ----------------------------------------------------------------------------------

const double: Work = ({ input }) => Promise.resolve(Number(input) * 2)

/** A master at work on an empty tree, and a submitter. */
async function system(options?: MasterOptions) {
  const all = await tree()
  const client = await all.open()
  await prepare(client)
  const running = new Master(client, await lead(client), options).run()
  onTestFinished(async () => {
    await client.close()
    await running
  })
  return { ...all, client, submitter: new Submitter(await all.open()) }
}

async function lead(client: Client): Promise<Held> {
  await client.ensure(paths.election)
  const { path, stat } = await client.create(`${paths.election}/m-`, '', {
    ephemeral: true,
    sequential: true,
  })
  return hold(client, { path, stat })
}

function start(client: Client, work: Work): { stop(): Promise<void> } {
  const controller = new AbortController()
  const running = new Worker(client, 'worker', work).run(controller.signal)
  const stop = async (): Promise<void> => {
    controller.abort()
    await running
  }
  onTestFinished(stop)
  return { stop }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

interface Begun extends Assignment {
  finish(output: unknown): void
}

/** Work that takes as long as the test wants. */
class Slow {
  count = 0
  total = 0
  private readonly ready: Begun[] = []
  private readonly wanted: ((begun: Begun) => void)[] = []

  readonly work: Work = (assignment) =>
    new Promise((resolve) => {
      this.count++
      this.total++
      const finish = (output: unknown): void => {
        this.count--
        resolve(output)
      }
      const begun = { ...assignment, finish }
      const wanted = this.wanted.shift()
      if (wanted === undefined) this.ready.push(begun)
      else wanted(begun)
    })

  /** The next task that begins. */
  begun(): Promise<Begun> {
    const ready = this.ready.shift()
    if (ready !== undefined) return Promise.resolve(ready)
    return new Promise((resolve) => this.wanted.push(resolve))
  }
}
