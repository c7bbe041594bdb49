// Two instances of a Nest application whose tasks run every second: each second on one of them.
import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule'
import { connect, type Client } from '@zabra/client'
import { coordinated, LeaderCoordinator, OnLeader } from '@zabra/recipes/schedulers'
import { CronJob } from 'cron'

interface Run {
  readonly task: string
  readonly instance: string
  readonly atSecond: number
}

const servers = process.argv[2] ?? ''
const runs: Run[] = []
const heard: (() => void)[] = []

function ran(task: string, instance: string): void {
  runs.push({ task, instance, atSecond: Math.floor(Date.now() / 1000) })
  for (const hear of heard.splice(0)) hear()
}

@Injectable()
class Tasks {
  constructor(
    @Inject(LeaderCoordinator) readonly coordinator: LeaderCoordinator,
    @Inject('name') private readonly name: string,
  ) {}

  @Cron('* * * * * *')
  @OnLeader({ name: 'decorated' })
  async decorated(): Promise<void> {
    ran('decorated', this.name)
  }
}

@Injectable()
class Connection implements OnApplicationShutdown {
  constructor(
    @Inject(LeaderCoordinator) private readonly coordinator: LeaderCoordinator,
    @Inject('client') private readonly client: Client,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.coordinator.close()
    await this.client.close()
  }
}

async function start(name: string) {
  const client = await connect(servers)
  await client.ensure('/')
  @Module({
    imports: [ScheduleModule.forRoot()],
    providers: [
      Tasks,
      Connection,
      { provide: 'name', useValue: name },
      { provide: 'client', useValue: client },
      {
        provide: LeaderCoordinator,
        useFactory: () => LeaderCoordinator.open(client, '/cron', { id: name }),
      },
    ],
  })
  // oxlint-disable-next-line typescript/no-extraneous-class -- Nest reads what is in the decorator
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] })
  const coordinator = app.get(LeaderCoordinator)
  const run = coordinated(coordinator, { name: 'registered' }, () => ran('registered', name))
  const job = CronJob.from({ cronTime: '* * * * * *', onTick: run })
  app.get(SchedulerRegistry).addCronJob('registered', job)
  job.start()
  return { app, coordinator }
}

async function untilRunsOf(name: string, count: number): Promise<void> {
  for (const task of ['decorated', 'registered']) {
    while (runs.filter((run) => run.task === task && run.instance === name).length < count)
      await new Promise<void>((resolve) => heard.push(resolve))
  }
}

const ann = await start('ann')
await ann.coordinator.elected()
const bob = await start('bob')
await untilRunsOf('ann', 2)
await ann.app.close()
await bob.coordinator.elected()
await untilRunsOf('bob', 2)
await bob.app.close()
for (const task of ['decorated', 'registered']) {
  const instances = runs.filter((run) => run.task === task).map(({ instance }) => instance)
  const isOrdered = instances.join().match(/^ann(,ann)*(,bob)+$/) !== null
  if (!isOrdered) throw new Error(`not one after the other: ${JSON.stringify(runs)}`)
}
console.log('all well')
