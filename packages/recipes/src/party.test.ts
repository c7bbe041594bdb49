import { joinPath } from '@zabra/client'
import { expect, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire } from '../test/support/trouble.ts'
import { Party } from './party.ts'
import { SetPartitioner } from './set-partitioner.ts'

const fixture = useServer()

test('members are seen, also twice, in the next session, and next to nodes of kazoo', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const party = new Party(client, '/party')
  await using guests = await party.watch()
  await using ann = await new Party(other, '/party').join('ann')
  await using again = await party.join('ann')
  await client.create('/party/0123456789abcdef0123456789abcdef__party__', 'bob', {
    ephemeral: true,
  })
  await client.create('/party/something-else', 'no member')
  await guests.until((now) => now.join() === 'ann,ann,bob')
  expect(await party.members()).toEqual(['ann', 'ann', 'bob'])
  await expire(other, fixture.connectString)
  await guests.until((now) => now.join() === 'ann,ann,bob')
  await again.release()
  await guests.until((now) => now.join() === 'ann,bob')
  expect(ann.path).toMatch(/^\/party\/[0-9a-f]{32}__party__$/)
})

test('a set is divided, and divided again when members come and go; each item has one owner', async () => {
  const items = ['a', 'b', 'c', 'd', 'e']
  const owners = new Map<string, string>()
  const shares = new Map<string, readonly string[]>()
  let wake = (): void => {}
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => (wake = resolve))
  }
  const start = async (id: string) => {
    const client = await fixture.open()
    const controller = new AbortController()
    const partitioner = new SetPartitioner(client, '/partitioned', items, { id, settleMs: 50 })
    const running = partitioner.run(
      async ({ items: own, signal }) => {
        for (const item of own) {
          expect(owners.get(item)).toBeUndefined()
          owners.set(item, id)
        }
        shares.set(id, own)
        wake()
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        for (const item of own) owners.delete(item)
        shares.delete(id)
        wake()
      },
      { signal: controller.signal },
    )
    const stop = (): Promise<void> => {
      controller.abort(new Error('enough'))
      return running
    }
    return { client, stop }
  }
  const ann = await start('ann')
  await until(() => shares.get('ann')?.length === 5)
  const bob = await start('bob')
  await until(() => shares.get('ann')?.join() === 'a,c,e' && shares.get('bob')?.join() === 'b,d')
  await expire(bob.client, fixture.connectString)
  await until(() => owners.size === 5 && shares.size === 2)
  await ann.stop()
  await until(() => shares.get('bob')?.length === 5)
  await bob.stop()
  expect(owners.size).toBe(0)
  expect(await bob.client.children(joinPath('/partitioned', 'party'))).toEqual([])
})

test('a member without items waits, and does not affect the others', async () => {
  const client = await fixture.open()
  const controller = new AbortController()
  const seen: number[] = []
  const both = ['x', 'y'].map((id) =>
    new SetPartitioner(client, '/few', ['only'], { id, settleMs: 30 }).run(
      async ({ items }) => {
        seen.push(items.length)
        if (seen.includes(0) && seen.includes(1)) controller.abort()
      },
      { signal: controller.signal },
    ),
  )
  await Promise.all(both)
  expect(seen).toContain(0)
})
