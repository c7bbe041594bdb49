import { expect, onTestFinished, test, vi } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { coordinated, LeaderCoordinator, OnLeader } from './index.ts'

const fixture = useServer()

async function open(path: string): Promise<LeaderCoordinator> {
  const coordinator = await LeaderCoordinator.open(await fixture.open(), path)
  onTestFinished(() => coordinator.close())
  return coordinator
}

test('only the leader among all instances runs a job, once for each scheduled time', async () => {
  const first = await open('/cron/job')
  await first.elected()
  const second = await open('/cron/job')
  const runs: string[] = []
  const everyMs = 3_600_000
  const jobs = [first, second].map((one, index) =>
    coordinated(one, { name: 'backup', everyMs }, (why: string) => runs.push(`${index} ${why}`)),
  )
  for (const why of ['a', 'b']) await Promise.all(jobs.map((job) => job(why)))
  expect(runs).toEqual(['0 a'])
})

test('a decorated method runs if its instance leads, and never without a coordinator', async () => {
  const coordinator = await open('/cron/method')
  await coordinator.elected()
  class Tasks {
    coordinator: LeaderCoordinator | undefined
    readonly runs: string[] = []
    backUp(): void {
      this.runs.push('ran')
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Tasks.prototype, 'backUp')!
  OnLeader({ name: 'backup', everyMs: 3_600_000 })(Tasks.prototype, 'backUp', descriptor)
  Object.defineProperty(Tasks.prototype, 'backUp', descriptor)
  const tasks = new Tasks()
  await tasks.backUp()
  expect(tasks.runs).toEqual([])
  tasks.coordinator = coordinator
  await tasks.backUp()
  await tasks.backUp()
  expect(tasks.runs).toEqual(['ran'])
})

test('waiting to lead ends when the coordinator is closed, or the caller gives up', async () => {
  const leader = await open('/cron/waiting')
  await leader.elected()
  const second = await open('/cron/waiting')
  const late = second.elected({ timeoutMs: 1 })
  await expect(late).rejects.toMatchObject({ code: 'timeout' })
  const waiting = second.elected()
  await second.close()
  await expect(waiting).rejects.toMatchObject({ code: 'lost', reason: 'released' })
})

test('asking a leader again and again whether it leads leaves nothing behind', async () => {
  const leader = await open('/cron/asked')
  const term = await leader.elected()
  const leading = Reflect.get(leader, 'leading') as Promise<void>
  const waits = vi.spyOn(leading, 'then')
  for (let i = 0; i < 10; i++) expect(await leader.elected()).toBe(term)
  expect(waits).not.toHaveBeenCalled()
})

test('a scheduler that asks a closed coordinator is told that it does not lead', async () => {
  const coordinator = await open('/cron/closed')
  await coordinator.elected()
  await coordinator.close()
  expect(await coordinator.shouldRun('job:2030-01-01T00:00:00.000Z')).toBe(false)
})

test('a coordinator is opened under a signal', async () => {
  const client = await fixture.open()
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(LeaderCoordinator.open(client, '/cron/aborted', { signal })).rejects.toThrow(
    'enough',
  )
})
