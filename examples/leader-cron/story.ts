import { connect, type Client } from '@zabra/client'
import { schedule, type ScheduledTask } from 'node-cron'
import type { Say } from '../support/on-server.ts'
import { LeaderCoordinator } from '@zabra/recipes/schedulers'

export interface Run {
  readonly instance: string
  readonly time: string
}

interface Instance {
  readonly name: string
  readonly client: Client
  readonly coordinator: LeaderCoordinator
  readonly task: ScheduledTask
}

/**
 * Three instances of a program have the same task each second; only the leader does it, and dies.
 */
export async function story(servers: string, say: Say): Promise<Run[]> {
  const runs: Run[] = []
  let wake = (): void => {}
  const onRun = (run: Run): void => {
    say(`${run.time} backed up by ${run.instance}`)
    runs.push(run)
    wake()
  }
  const untilRuns = async (count: number): Promise<void> => {
    while (runs.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  const instances: Instance[] = []
  for (const name of ['anna', 'bert', 'cleo']) instances.push(await start(servers, name, onRun))

  await untilRuns(2)
  const leader = instances.findIndex(({ name }) => name === runs.at(-1)?.instance)
  const [fallen] = instances.splice(leader, 1)
  say(`${fallen!.name} leads, and is stopped`)
  await stop(fallen!)
  await untilRuns(4)
  for (const instance of instances) await stop(instance)
  return runs
}

async function start(servers: string, name: string, onRun: (run: Run) => void): Promise<Instance> {
  const client = await connect(servers, { sessionTimeoutMs: 2000 })
  const coordinator = await LeaderCoordinator.open(client, '/cron', { id: name })
  const backUp = ({ date }: { date: Date }): void =>
    onRun({ instance: name, time: date.toISOString() })
  const task = schedule('* * * * * *', backUp, {
    name: 'backup',
    distributed: true,
    runCoordinator: coordinator,
  })
  return { name, client, coordinator, task }
}

async function stop({ client, coordinator, task }: Instance): Promise<void> {
  await task.destroy()
  await coordinator[Symbol.asyncDispose]()
  await client.close()
}
