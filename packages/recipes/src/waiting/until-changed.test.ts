import { OperationError, type Client, type Data, type OneShotWatch } from '@zabra/client'
import { expect, test } from 'vitest'
import { untilChanged } from './until-changed.ts'

const never = new AbortController().signal
const deleted = { type: 'deleted', path: '/node', zxid: undefined } as const

/** A client whose reads are answered by hand. */
function puppet(answer: (watch: OneShotWatch) => Promise<Data>) {
  const watches: OneShotWatch[] = []
  const get = (_: string, { watch }: { watch: OneShotWatch }): Promise<Data> => {
    watches.push(watch)
    return answer(watch)
  }
  return { client: { get } as unknown as Client, watches }
}

const node = { data: new Uint8Array(0), stat: {} } as Data

test('an event that comes together with the reply is noticed', async () => {
  const { client } = puppet((watch) => {
    const reply = Promise.resolve(node)
    watch(deleted)
    return reply
  })
  await untilChanged(client, '/node', never)
})

test('waiting for the same node again and again leaves one watch behind, not many', async () => {
  const { client, watches } = puppet(() => Promise.resolve(node))
  for (let i = 0; i < 3; i++) {
    const controller = new AbortController()
    const waiting = untilChanged(client, '/node', controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  }
  expect(new Set(watches).size).toBe(1)
  const both = [untilChanged(client, '/node', never), untilChanged(client, '/node', never)]
  await Promise.resolve()
  watches[0]!(deleted)
  await Promise.all(both)
  expect(new Set(watches).size).toBe(1)
  const next = untilChanged(client, '/node', never)
  watches.at(-1)!(deleted)
  await next
  expect(new Set(watches).size).toBe(2)
})

test('waiting resolves at once without a node, or without a reason to wait', async () => {
  const none = puppet(() => Promise.reject(new OperationError('noNode')))
  await untilChanged(none.client, '/node', never)
  const some = puppet(() => Promise.resolve(node))
  await untilChanged(some.client, '/node', never, () => false)
})
