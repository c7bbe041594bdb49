// Two instances of a program whose task node-cron runs every second: each second on one of them.
import { connect, type Client } from '@zabra/client'
import { LeaderCoordinator } from '@zabra/recipes/schedulers'
import { schedule, type RunCoordinator, type ScheduledTask } from 'node-cron'

interface Run {
  readonly instance: string
  readonly atSecond: number
}

const servers = process.argv[2] ?? ''
const runs: Run[] = []
const heard: (() => void)[] = []

interface Instance {
  readonly client: Client
  readonly coordinator: LeaderCoordinator
  readonly task: ScheduledTask
}

async function start(name: string): Promise<Instance> {
  const client = await connect(servers)
  await client.ensure('/')
  const coordinator = await LeaderCoordinator.open(client, '/cron', { id: name })
  const runCoordinator: RunCoordinator = coordinator
  const run = ({ date }: { readonly date: Date }): void => {
    runs.push({ instance: name, atSecond: Math.floor(date.getTime() / 1000) })
    for (const hear of heard.splice(0)) hear()
  }
  const task = schedule('* * * * * *', run, { name: 'tick', distributed: true, runCoordinator })
  return { client, coordinator, task }
}

async function untilRunsOf(name: string, count: number): Promise<void> {
  while (runs.filter(({ instance }) => instance === name).length < count)
    await new Promise<void>((resolve) => heard.push(resolve))
}

const ann = await start('ann')
await ann.coordinator.elected()
const bob = await start('bob')
await untilRunsOf('ann', 2)
await ann.coordinator.close()
await bob.coordinator.elected()
await untilRunsOf('bob', 2)
for (const { task, coordinator, client } of [ann, bob]) {
  await task.destroy()
  await coordinator.close()
  await client.close()
}
const seconds = runs.map(({ atSecond }) => atSecond)
if (new Set(seconds).size !== seconds.length) throw new Error(`twice: ${JSON.stringify(runs)}`)
console.log('all well')
