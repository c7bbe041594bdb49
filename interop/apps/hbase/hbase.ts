import { delimiter } from 'node:path'
import { unprepared } from '../../clients/client.ts'
import { compile } from '../../clients/java/prepare.ts'
import type { Program } from '../../clients/program.ts'
import type { Application } from '../application.ts'
import { fetchJars } from '../install/maven.ts'
import type { Stage } from '../stage.ts'
import { until } from '../../src/until.ts'
import { HBaseServers } from './servers.ts'

const version = '2.5.11'
const patienceMs = 120_000

/** Masters elect a leader, region servers are ephemerals, and clients start at ZooKeeper. */
export const hbase: Application = {
  name: 'hbase',
  exercise: 'two masters, three region servers: rows kept while one of each and the leader die',
  async prepare() {
    const jars = await fetchJars(`hbase-${version}`, [
      `org.apache.hbase:hbase-server:${version}-hadoop3`,
    ])
    if (!jars.ok) return jars
    const classes = await compile('hbase', ['Store'], jars.classPath, import.meta.dirname)
    if (!classes.ok) return unprepared('javac failed', classes.output)
    const classPath = [classes.dir, jars.classPath].join(delimiter)
    return { ok: true, version, run: (stage) => run(stage, classPath) }
  },
}

async function run(stage: Stage, classPath: string): Promise<string> {
  const { ensemble } = stage
  const servers = new HBaseServers(stage, classPath)
  const store = await stage.step('masters and region servers find each other', async () => {
    await Promise.all([servers.start('master'), servers.start('master')])
    await Promise.all([servers.start('region'), servers.start('region'), servers.start('region')])
    await untilMaster(stage)
    const opened = new Store(servers.openStore())
    stage.atEnd(() => opened.end())
    await opened.untilServers(3)
    return opened
  })
  await stage.step('a table of eight regions is made and written to', async () => {
    if ((await store.ask('create')) !== '8') throw new Error('there are not eight regions')
    await store.put(500)
  })
  await stage.step('the leader of the ensemble is killed', async () => {
    await ensemble.kill('leader')
    await store.put(500)
    await store.expectAll()
  })
  await stage.step('a region server is killed meanwhile: its regions move', async () => {
    const [victim] = (await store.ask('used')).split(' ').map(Number)
    await servers.of(victim!).stop('SIGKILL')
    await store.put(500)
    await store.expectAll()
    await store.untilServers(2)
    const used = await store.ask('used')
    if (used.includes(`${victim}`)) throw new Error(`regions are on ${used}, and ${victim} is dead`)
  })
  await stage.step('the active master is killed: the other takes over', async () => {
    const victim = Number(await store.ask('master'))
    await servers.of(victim).stop('SIGKILL')
    await until('no other master', patienceMs, async () => {
      return Number(await store.ask('master')) !== victim
    })
    await store.put(200)
  })
  await stage.step('everybody returns, a follower is killed', async () => {
    await ensemble.heal()
    await servers.start('region')
    await store.untilServers(3)
    await store.ask('balance')
    await ensemble.kill('follower')
    await store.put(300)
    await ensemble.heal()
  })
  await stage.step('every row is there', () => store.expectAll())
  await stage.step('the table is dropped', async () => {
    if ((await store.ask('drop')) !== 'false') throw new Error('the table is still there')
  })
  return `${store.rows} rows acknowledged, 0 missing`
}

async function untilMaster(stage: Stage): Promise<void> {
  await until('there is no master', patienceMs, async () => {
    const path = '/hbase/master'
    const reply = await stage.look((client) => client.call('exists', { path, watch: false }))
    return reply.response !== undefined
  })
}

/** The connection to `Store.java`. */
class Store {
  rows = 0
  private readonly program: Program

  constructor(program: Program) {
    this.program = program
  }

  async put(count: number): Promise<void> {
    await this.ask(`put ${this.rows} ${this.rows + count}`)
    this.rows += count
  }

  async expectAll(): Promise<void> {
    const missing = await this.ask(`missing ${this.rows}`)
    if (missing !== '0') throw new Error(`${missing} of ${this.rows} rows are missing`)
  }

  async untilServers(count: number): Promise<void> {
    await until(`there are not ${count} region servers`, patienceMs, async () => {
      const ports = await this.ask('servers')
      return ports.split(' ').filter(Boolean).length === count
    })
  }

  async ask(order: string): Promise<string> {
    this.program.tell(order)
    const line = await this.program.nextLine(patienceMs)
    const [word = ''] = order.split(' ')
    if (line === undefined) throw new Error(`no answer to ${order}: ${this.program.ending}`)
    if (!line.startsWith(`${word} `)) throw new Error(`${order}: ${line}`)
    return line.slice(word.length + 1)
  }

  end(): Promise<void> {
    return this.program.end()
  }
}
