import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Application } from '../application.ts'
import { fetchJars } from '../install/maven.ts'
import type { Stage } from '../stage.ts'
import { until, untilDone } from '../../src/until.ts'
import { HdfsServers, type NameNodeId } from './servers.ts'

const version = '3.4.1'
const patienceMs = 120_000

/** Hadoop's failover controllers, whose elector uses an ephemeral node and a "breadcrumb" node. */
export const hdfs: Application = {
  name: 'hdfs',
  exercise: 'two NameNodes: automatic failover when one, its controller or the leader is killed',
  async prepare() {
    const jars = await fetchJars(`hdfs-${version}`, [
      `org.apache.hadoop:hadoop-common:${version}`,
      `org.apache.hadoop:hadoop-hdfs:${version}`,
      `org.apache.hadoop:hadoop-hdfs-client:${version}`,
      // Maven would choose an older version than the one that Hadoop is released with.
      'com.fasterxml.jackson.core:jackson-core:2.12.7',
    ])
    if (!jars.ok) return jars
    return { ok: true, version, run: (stage) => run(stage, jars.classPath) }
  },
}

async function run(stage: Stage, classPath: string): Promise<string> {
  const { ensemble } = stage
  const servers = await HdfsServers.open(stage, classPath)
  const files = new Files(stage, servers)
  let failovers = 0

  await stage.step('a file system is made, with its place in ZooKeeper', async () => {
    await servers.run('nn1', 'namenode', '-format', '-nonInteractive')
    servers.start('nn1', 'namenode')
    await untilDone(patienceMs, () => {
      return servers.run('nn2', 'namenode', '-bootstrapStandby', '-nonInteractive')
    })
    servers.start('nn2', 'namenode')
    await servers.run('nn1', 'zkfc', '-formatZK', '-nonInteractive')
  })
  const untilActive = async (wanted?: NameNodeId): Promise<NameNodeId> => {
    let active: NameNodeId | undefined
    await until(`${wanted ?? 'no NameNode'} does not become active`, patienceMs, async () => {
      active = await servers.active()
      return active !== undefined && (wanted === undefined || active === wanted)
    })
    return active!
  }
  const first = await stage.step('one of two NameNodes becomes active', async () => {
    servers.start('nn1', 'zkfc')
    servers.start('nn2', 'zkfc')
    servers.start('nn1', 'datanode')
    const active = await untilActive()
    await files.write()
    return active
  })
  const second: NameNodeId = first === 'nn1' ? 'nn2' : 'nn1'

  await stage.step('the leader of the ensemble is killed: the active one stays', async () => {
    await ensemble.kill('leader')
    await files.write()
    if ((await servers.active()) !== first) throw new Error(`${first} is not active any more`)
  })
  await stage.step('the active NameNode is killed meanwhile: the other takes over', async () => {
    await servers.kill(first, 'namenode')
    await untilActive(second)
    failovers++
    await files.write()
  })
  await stage.step('both return, and the NameNode as a standby', async () => {
    await ensemble.heal()
    servers.start(first, 'namenode')
    await until(`${first} is not a standby`, patienceMs, async () => {
      const state = await servers.run(second, 'haadmin', '-getServiceState', first).catch(String)
      return state.includes('standby')
    })
    if ((await servers.active()) !== second) throw new Error(`${second} is not active any more`)
  })
  await stage.step('the controller of the active one is killed: its session ends', async () => {
    await servers.kill(second, 'zkfc')
    await untilActive(first)
    failovers++
    await files.write()
    servers.start(second, 'zkfc')
  })
  await stage.step('a failover by hdfs haadmin, a follower killed', async () => {
    await ensemble.kill('follower')
    await untilDone(patienceMs, () => servers.run('nn1', 'haadmin', '-failover', first, second))
    await untilActive(second)
    failovers++
    await files.write()
    await ensemble.heal()
  })
  await stage.step('every file is there', () => files.expectAll())
  return `${files.count} files kept through ${failovers} failovers`
}

/** Files of one line each, written through the active NameNode. */
class Files {
  count = 0
  private readonly stage: Stage
  private readonly servers: HdfsServers

  constructor(stage: Stage, servers: HdfsServers) {
    this.stage = stage
    this.servers = servers
  }

  async write(): Promise<void> {
    const local = join(this.stage.dir, 'line.txt')
    const number = this.count++
    writeFileSync(local, `${number}\n`)
    // The DataNode may not have found the new active NameNode yet.
    await untilDone(patienceMs, () => {
      return this.servers.run('nn1', 'fs', '-put', '-f', local, `/file-${number}`)
    })
  }

  async expectAll(): Promise<void> {
    const output = await this.servers.run('nn1', 'fs', '-cat', '/file-*')
    const found = output.split('\n').filter((line) => /^\d+$/.test(line))
    const wanted = Array.from({ length: this.count }, (_, i) => `${i}`)
    if (found.join() !== wanted.join()) throw new Error(`found ${found.join()}`)
  }
}
