import { join } from 'node:path'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import type { Application } from '../application.ts'
import { installPython } from '../../src/python.ts'
import type { Stage } from '../stage.ts'
import { until, untilDone } from '../../src/until.ts'
import { PatroniNode, scope, type MemberState } from './node.ts'
import { findPostgres, lesserAccount, type Postgres } from './postgres.ts'
import { Rows } from './rows.ts'

const version = '4.1.5'
const patienceMs = 120_000
const names = ['one', 'two', 'three']

/**
 * High availability for PostgreSQL: the primary is the holder of an ephemeral node, using kazoo.
 */
export const patroni: Application = {
  name: 'patroni',
  exercise:
    'three PostgreSQL: failover, rejoin, switchover, changed settings, over kills of servers',
  async prepare() {
    const postgres = await findPostgres()
    if (!postgres.ok) return postgres
    const packages = [`patroni[zookeeper,psycopg3]==${version}`, 'kazoo==2.11.0']
    const python = await installPython(`patroni-${version}`, packages)
    if (!python.ok) return python
    return { ok: true, version, run: (stage) => run(stage, python.bin, postgres) }
  },
}

async function run(stage: Stage, bin: string, postgres: Postgres): Promise<string> {
  const { ensemble } = stage
  const cluster = await Cluster.open(stage, bin, postgres)
  const { rows } = cluster
  const goesOn = (): Promise<void> => rows.untilMore(20, patienceMs)

  await stage.step('a primary is elected, the others follow it', () => cluster.untilWhole())
  await stage.step('rows are written', async () => {
    await rows.queryPrimary('create table ledger (n integer primary key)')
    rows.start()
    stage.atEnd(() => rows.stop())
    await goesOn()
  })
  await stage.step('the leader of the ensemble is killed: the primary stays', async () => {
    const before = await cluster.primary()
    await ensemble.kill('leader')
    await rows.untilMore(150, patienceMs)
    const after = await cluster.primary()
    if (after.name !== before.name || after.timeline !== before.timeline) {
      throw new Error(`${before.name} was primary, and now ${after.name} is`)
    }
  })
  const lost = await stage.step('the primary is killed meanwhile: a replica is promoted', () => {
    return cluster.killPrimary(goesOn)
  })
  await stage.step('the killed server returns, and the old primary as a replica', async () => {
    await ensemble.heal()
    cluster.node(lost).start()
    await cluster.untilWhole()
    await goesOn()
  })
  await stage.step('the primary and the leader are killed at once', async () => {
    const [name] = await Promise.all([cluster.killPrimary(goesOn), ensemble.kill('leader')])
    await ensemble.heal()
    cluster.node(name).start()
    await cluster.untilWhole()
  })
  await stage.step('a switchover by patronictl', async () => {
    const { name: from } = await cluster.primary()
    // Only the synchronous standby may take over.
    const to = await untilDone(patienceMs, () => cluster.nameOf('sync_standby'))
    await cluster.control('switchover', scope, '--leader', from, '--candidate', to, '--force')
    await until(`${to} is not the primary`, patienceMs, async () => {
      return (await cluster.primary()).name === to
    })
    await cluster.untilWhole()
    await goesOn()
  })
  await stage.step('a setting is changed for all by patronictl', async () => {
    const setting = 'postgresql.parameters.work_mem=7MB'
    await cluster.control('edit-config', scope, '--set', setting, '--force')
    await until('not every node has the setting', patienceMs, async () => {
      const found = cluster.nodes.map(({ postgresPort }) =>
        rows.query(postgresPort, 'show work_mem'),
      )
      return (await Promise.all(found)).every((text) => text === '7MB')
    })
  })
  await stage.step('every acknowledged row is on every node', async () => {
    await rows.stop()
    for (const { name, postgresPort } of cluster.nodes) {
      await until(`${name} lacks rows`, patienceMs, async () => {
        return (await rows.missingOn(postgresPort)) === 0
      })
    }
  })
  const { timeline } = await cluster.primary()
  return `${rows.count} rows acknowledged, 0 missing, ${rows.failures} refused, timeline ${timeline}`
}

class Cluster {
  readonly nodes: readonly PatroniNode[]
  readonly rows: Rows
  private readonly stage: Stage
  private readonly bin: string

  static async open(stage: Stage, bin: string, postgres: Postgres): Promise<Cluster> {
    const ports = await freePorts(2 * names.length)
    const account = await lesserAccount()
    const nodes = names.map((name, i) => {
      const [restPort, postgresPort] = [ports[2 * i]!, ports[2 * i + 1]!]
      const program = join(bin, 'patroni')
      return new PatroniNode(stage, {
        name,
        restPort,
        postgresPort,
        patroni: program,
        postgres,
        account,
      })
    })
    return new Cluster(stage, bin, postgres, nodes)
  }

  private constructor(
    stage: Stage,
    bin: string,
    postgres: Postgres,
    nodes: readonly PatroniNode[],
  ) {
    this.stage = stage
    this.bin = bin
    this.nodes = nodes
    this.rows = new Rows(
      postgres.bin,
      nodes.map(({ postgresPort }) => postgresPort),
    )
  }

  node(name: string): PatroniNode {
    return this.nodes.find((node) => node.name === name)!
  }

  /** The members according to the first node that answers. */
  async members(): Promise<readonly MemberState[]> {
    for (const node of this.nodes) {
      const members = await node.cluster()
      if (members !== undefined) return members
    }
    return []
  }

  async primary(): Promise<MemberState> {
    return untilDone(patienceMs, async () => {
      const found = (await this.members()).find(({ role }) => role === 'leader')
      if (found === undefined) throw new Error('there is no primary')
      return found
    })
  }

  async nameOf(role: string): Promise<string> {
    const found = (await this.members()).find((member) => member.role === role)
    if (found === undefined) throw new Error(`nobody is ${role}`)
    return found.name
  }

  /** Waits for one primary, and two replicas that stream from it. */
  async untilWhole(): Promise<void> {
    let members: readonly MemberState[] = []
    try {
      await until('the nodes are not whole', patienceMs, async () => {
        members = await this.members()
        const primaries = members.filter(({ role }) => role === 'leader')
        const streaming = members.filter(({ state }) => state === 'streaming')
        return primaries.length === 1 && streaming.length === names.length - 1
      })
    } catch (error) {
      throw new Error(`${String(error)}: ${JSON.stringify(members)}`, { cause: error })
    }
  }

  /**
   * Kills Patroni and PostgreSQL of the primary; returns its name once another node has taken over.
   */
  async killPrimary(goesOn: () => Promise<void>): Promise<string> {
    const { name } = await this.primary()
    await this.node(name).kill()
    await until(`nobody takes over from ${name}`, patienceMs, async () => {
      return (await this.primary()).name !== name
    })
    await goesOn()
    return name
  }

  control(...args: readonly string[]): Promise<string> {
    const { configFile } = this.nodes[0]!
    return this.stage.tool([join(this.bin, 'patronictl'), '-c', configFile, ...args])
  }
}
