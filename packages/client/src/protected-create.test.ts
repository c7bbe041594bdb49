import { expect, test } from 'vitest'
import { AbortListeners } from './abort-listeners.ts'
import { ConnectionLossError, OperationError, SessionExpiredError } from './errors.ts'
import type { Host } from './host.ts'
import { protectedCreate, type ProtectedPort } from './protected-create.ts'

const stat = {} as never

test('a lost reply is looked for again where the connection is lost over that too', async () => {
  const losses = [new ConnectionLossError(false), new ConnectionLossError(false)]
  let creations = 0
  const port: ProtectedPort = {
    create: () => {
      creations++
      return Promise.reject(new ConnectionLossError(true))
    },
    children: () => {
      const loss = losses.shift()
      return loss === undefined ? Promise.resolve(['_c_guid-item-']) : Promise.reject(loss)
    },
    exists: () => Promise.resolve(stat),
    delete: () => Promise.resolve(),
  }
  const task = { path: '/queue/item-', guid: 'guid', isPersistent: false }
  const { path } = await protectedCreate(port, task, {}, new AbortListeners(), {} as Host)
  expect(path).toBe('/queue/_c_guid-item-')
  expect(creations).toBe(1)
})

test('what comes of a create that was given up is deleted, though the server refuses for a while', async () => {
  const refusals = [new ConnectionLossError(true), new OperationError('systemError')]
  const deleted: string[] = []
  let made!: () => void
  const isMade = new Promise<void>((resolve) => (made = resolve))
  let gone!: () => void
  const isGone = new Promise<void>((resolve) => (gone = resolve))
  const port: ProtectedPort = {
    create: (path) => isMade.then(() => ({ path, stat })),
    children: () => Promise.resolve([]),
    exists: () => Promise.resolve(undefined),
    delete: (path) => {
      const refusal = refusals.shift()
      if (refusal !== undefined) return Promise.reject(refusal)
      deleted.push(path)
      gone()
      return Promise.resolve()
    },
  }
  const host = {
    timer: (_ms: number, callback: () => void) => {
      queueMicrotask(callback)
      return () => {}
    },
  } as unknown as Host
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const task = { path: '/queue/item-', guid: 'guid', isPersistent: true }
  const creating = protectedCreate(port, task, options, new AbortListeners(), host)
  controller.abort(new Error('no more'))
  await expect(creating).rejects.toThrow('no more')
  made()
  await isGone
  expect(deleted).toEqual(['/queue/_c_guid-item-'])
})

test.each([true, false])(
  'a node that may have been made when its session expired is looked for if it outlives it (%s)',
  async (isPersistent) => {
    const made: string[] = []
    const port: ProtectedPort = {
      create(path) {
        made.push(path)
        return Promise.reject(new SessionExpiredError(true))
      },
      children: () => Promise.resolve(made.map((path) => path.slice('/queue/'.length))),
      exists: () => Promise.resolve(stat),
      delete: () => Promise.resolve(),
    }
    const task = { path: '/queue/item', guid: 'guid', isPersistent }
    const creating = protectedCreate(port, task, {}, new AbortListeners(), {} as Host)
    if (isPersistent) expect((await creating).path).toBe('/queue/_c_guid-item')
    else await expect(creating).rejects.toBeInstanceOf(SessionExpiredError)
    expect(made).toHaveLength(1)
  },
)
