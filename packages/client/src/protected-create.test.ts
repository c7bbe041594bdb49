import { expect, test } from 'vitest'
import { ConnectionLossError, OperationError, SessionExpiredError } from './errors.ts'
import type { Host } from './host.ts'
import { protectedCreate, type ProtectedPort } from './protected-create.ts'

const stat = {} as never
/** A client whose time passes instantly. */
const hastyHost = {
  timer: (_ms: number, callback: () => void) => {
    queueMicrotask(callback)
    return () => {}
  },
} as unknown as Host

test('after a lost reply the client looks for the node until there is an answer', async () => {
  const losses = [
    new ConnectionLossError(false),
    new OperationError('systemError'),
    new ConnectionLossError(false),
  ]
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
    withdraw: () => false,
    expiries: () => 0,
    isClosed: () => false,
  }
  const { path } = await protectedCreate(port, '/queue/item-', 'guid', {}, hastyHost)
  expect(path).toBe('/queue/_c_guid-item-')
  expect(creations).toBe(1)
})

test('a node that appears after giving up is deleted, even if the server refuses for a while', async () => {
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
    withdraw: () => false,
    expiries: () => 0,
    isClosed: () => false,
  }
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const creating = protectedCreate(port, '/queue/item-', 'guid', options, hastyHost)
  controller.abort(new Error('no more'))
  await expect(creating).rejects.toThrow('no more')
  made()
  await isGone
  expect(deleted).toEqual(['/queue/_c_guid-item-'])
})

/**
 * Loses the reply to the only create; the call with number `expireAt` then finds the session
 * expired.
 */
function expiringPort(expireAt: 'at once' | 'children' | 'exists'): ProtectedPort {
  let expiries = 0
  let creations = 0
  const expire = (moment: typeof expireAt): void => {
    if (moment === expireAt) expiries++
  }
  return {
    create: () => {
      expect(++creations).toBe(1)
      expire('at once')
      return Promise.reject(new ConnectionLossError(true))
    },
    children: () => {
      expire('children')
      // Calls that wait for a connection end with the session; later calls do not.
      return expireAt === 'children'
        ? Promise.reject(new SessionExpiredError(false))
        : Promise.resolve(['_c_guid-item-'])
    },
    exists: () => {
      expire('exists')
      return Promise.resolve(stat)
    },
    delete: () => Promise.resolve(),
    withdraw: () => false,
    expiries: () => expiries,
    isClosed: () => false,
  }
}

test.each(['at once', 'children', 'exists'] as const)(
  'if the session expires before the outcome is known, nothing is created or found in the next one (%s)',
  async (moment) => {
    const port = expiringPort(moment)
    const creating = protectedCreate(port, '/queue/item-', 'guid', {}, hastyHost)
    const error = await creating.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SessionExpiredError)
    expect(error).toMatchObject({ mayHaveHappened: true, path: '/queue/_c_guid-item-' })
  },
)

test('a node that was created in an expired session and given up is looked for in the next', async () => {
  let expiries = 0
  let lose!: () => void
  const isLost = new Promise<void>((resolve) => (lose = resolve))
  let gone!: (path: string) => void
  const isGone = new Promise<string>((resolve) => (gone = resolve))
  const port: ProtectedPort = {
    create: async () => {
      await isLost
      expiries++
      throw new ConnectionLossError(true)
    },
    children: () => Promise.resolve(['_c_guid-item-']),
    exists: () => Promise.resolve(stat),
    delete: (path) => {
      gone(path)
      return Promise.resolve()
    },
    withdraw: () => false,
    expiries: () => expiries,
    isClosed: () => false,
  }
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const creating = protectedCreate(port, '/queue/item-', 'guid', options, hastyHost)
  controller.abort(new Error('no more'))
  await expect(creating).rejects.toThrow('no more')
  lose()
  expect(await isGone).toBe('/queue/_c_guid-item-')
})

test('a node that outlives its session is deleted in the next one after giving up', async () => {
  let gone!: (path: string) => void
  const isGone = new Promise<string>((resolve) => (gone = resolve))
  let attempts = 0
  const port: ProtectedPort = {
    create: (path) => Promise.resolve({ path, stat }),
    children: () => Promise.resolve([]),
    exists: () => Promise.resolve(undefined),
    delete: (path) => {
      if (attempts++ === 0) return Promise.reject(new SessionExpiredError(true))
      gone(path)
      return Promise.resolve()
    },
    withdraw: () => false,
    expiries: () => 0,
    isClosed: () => false,
  }
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const creating = protectedCreate(port, '/q/n', 'guid', options, hastyHost)
  controller.abort(new Error('no more'))
  await expect(creating).rejects.toThrow('no more')
  expect(await isGone).toBe('/q/_c_guid-n')
})

test('a client whose last session has expired does not try to delete forever', async () => {
  let attempts = 0
  let tried!: () => void
  const isTried = new Promise<void>((resolve) => (tried = resolve))
  const port: ProtectedPort = {
    create: (path) => Promise.resolve({ path, stat }),
    children: () => Promise.resolve([]),
    exists: () => Promise.resolve(undefined),
    delete: () => {
      attempts++
      tried()
      return Promise.reject(new SessionExpiredError(false))
    },
    withdraw: () => false,
    expiries: () => 1,
    isClosed: () => true,
  }
  const controller = new AbortController()
  const options = { signal: controller.signal }
  const creating = protectedCreate(port, '/q/n', 'guid', options, hastyHost)
  controller.abort(new Error('no more'))
  await expect(creating).rejects.toThrow('no more')
  await isTried
  await new Promise((resolve) => setImmediate(resolve))
  expect(attempts).toBe(1)
})
