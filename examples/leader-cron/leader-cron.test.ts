import { nextState } from '@zabra/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Client } from '@zabra/client'
import { useServer } from '../support/testing.ts'
import { LeaderCoordinator } from '@zabra/recipes/schedulers'
import { story } from './story.ts'

const { tree } = useServer()
const fire = (second: number): string =>
  `backup:2030-01-01T00:00:${String(second).padStart(2, '0')}.000Z`

async function coordinatorOf(client: Client): Promise<LeaderCoordinator> {
  const coordinator = await LeaderCoordinator.open(client, '/cron')
  onTestFinished(() => coordinator[Symbol.asyncDispose]())
  return coordinator
}

test('each time is served by the leader alone, and once', async () => {
  const { open } = await tree()
  const first = await coordinatorOf(await open())
  await first.elected()
  const second = await coordinatorOf(await open())
  expect(await second.shouldRun(fire(1))).toBe(false)
  expect(await first.shouldRun(fire(1))).toBe(true)
  expect(await first.shouldRun(fire(1))).toBe(false)
  expect(await first.shouldRun(fire(2))).toBe(true)
})

test('a successor whose clock is behind does not serve a time again', async () => {
  const { open } = await tree()
  const client = await open()
  const first = await coordinatorOf(client)
  await first.elected()
  expect(await first.shouldRun(fire(5))).toBe(true)
  const second = await coordinatorOf(await open())
  await client.close()
  await second.elected()
  expect(await second.shouldRun(fire(5))).toBe(false)
  expect(await second.shouldRun(fire(6))).toBe(true)
})

test('tasks do not stand in the way of each other', async () => {
  const { open } = await tree()
  const coordinator = await coordinatorOf(await open())
  await coordinator.elected()
  expect(await coordinator.shouldRun('a/b:2030-01-01T00:00:02.000Z')).toBe(true)
  expect(await coordinator.shouldRun('a:b:2030-01-01T00:00:01.000Z')).toBe(true)
})

test('a leader that was cut off serves nothing, and leads again later', async () => {
  const { openProxied } = await tree()
  const { proxy, client } = await openProxied()
  const coordinator = await coordinatorOf(client)
  const { epoch } = await coordinator.elected()
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  expect(await coordinator.shouldRun(fire(1))).toBe(false)
  await proxy.heal()
  const again = await coordinator.elected()
  expect(again.epoch).toBeGreaterThan(epoch)
  expect(await coordinator.shouldRun(fire(1))).toBe(true)
})

test('an instance that cannot lead any more says so at each time', async () => {
  const { open } = await tree()
  const client = await open()
  const coordinator = await coordinatorOf(client)
  await coordinator.elected()
  await client.close()
  // It may take a moment to notice; until then it does not lead, which is not wrong either.
  await vi.waitFor(() =>
    expect(coordinator.shouldRun(fire(1))).rejects.toThrow('the client is closed'),
  )
})

test('with node-cron: every second once, before and after the leader is gone', async () => {
  const { connectString } = await tree()
  const runs = await story(connectString, () => {})
  const times = runs.map(({ time }) => time)
  expect(new Set(times).size).toBe(times.length)
  expect(new Set(runs.map(({ instance }) => instance)).size).toBeGreaterThan(1)
})
