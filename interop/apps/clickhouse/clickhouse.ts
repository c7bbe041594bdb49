import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import type { Application } from '../application.ts'
import { unpackDebian, type Unpacked } from '../install/debian.ts'
import type { Stage } from '../stage.ts'
import { until, untilDone } from '../../src/until.ts'
import { cluster, Replica, type ReplicaPorts } from './replica.ts'

const patienceMs = 90_000
const names = ['north', 'south']
const blockRows = 1000
const tablePath = '/clickhouse/tables/events'

/** Replicated tables, using ClickHouse's own ZooKeeper client in C++. */
export const clickhouse: Application = {
  name: 'clickhouse',
  exercise: 'two replicas: ON CLUSTER, inserts once only, catching up, mutations, over kills',
  async prepare() {
    const debian = await unpackDebian('clickhouse', ['clickhouse-server', 'clickhouse-client'])
    if (!debian.ok) return debian
    return { ok: true, version: debian.version, run: (stage) => run(stage, debian) }
  },
}

async function run(stage: Stage, debian: Unpacked): Promise<string> {
  const { ensemble } = stage
  const [north, south] = await startReplicas(stage, debian)
  const events = new Events([north, south])

  await stage.step('a replicated table is made on both by one statement', async () => {
    await untilDone(patienceMs, () => north.query('select 1'))
    await untilDone(patienceMs, () => south.query('select 1'))
    await north.query(
      `CREATE TABLE events ON CLUSTER ${cluster} (day Date, n UInt64)
       ENGINE = ReplicatedMergeTree('${tablePath}', '{replica}')
       PARTITION BY toYYYYMM(day) ORDER BY n`,
    )
  })
  await stage.step('what is inserted on one is read on the other', async () => {
    for (let i = 0; i < 5; i++) await events.insert(i % 2 === 0 ? north : south)
    await events.untilAlike()
  })
  await stage.step('a block that is inserted again is there once', async () => {
    await events.repeatLast(south)
    await events.untilAlike()
  })
  // Done before anything is killed: after the loss of its session, an ALTER of this release runs
  // into its timeout, with Apache's servers as well.
  await stage.step('a column is added on both', async () => {
    await untilDone(patienceMs, () => {
      return south.query(
        `ALTER TABLE events ON CLUSTER ${cluster} ADD COLUMN word String DEFAULT 'w'`,
      )
    })
    await until('a replica lacks the column', patienceMs, async () => {
      const found = await Promise.all(
        [north, south].map((each) => each.query('select uniqExact(word) from events')),
      )
      return found.every((text) => text === '1')
    })
  })
  await stage.step('the leader is killed amid inserts', async () => {
    const [killed] = await Promise.all([ensemble.kill('leader'), events.insertMany(10)])
    if (killed.running) throw new Error('the leader is still there')
    await events.insertMany(4)
    await events.untilAlike()
  })
  await stage.step('a replica is killed, and catches up while a server is down', async () => {
    await south.kill()
    for (let i = 0; i < 6; i++) await events.insert(north)
    south.start()
    await events.untilAlike()
  })
  await stage.step('the servers return one by one, others are killed', async () => {
    await ensemble.heal()
    await ensemble.kill('follower')
    await events.insertMany(4)
    await ensemble.heal()
    await ensemble.kill('leader')
    await events.insertMany(4)
    await ensemble.heal()
    await events.untilAlike()
  })
  await stage.step('rows are deleted by a mutation', async () => {
    await events.deleteOdd(north)
    await events.untilAlike()
  })
  await stage.step('it sees its own znodes', async () => {
    const sql = `select name from system.zookeeper where path = '${tablePath}/replicas' order by name`
    const seen = await north.query(sql)
    if (seen !== names.join('\n')) throw new Error(`replicas are ${seen}`)
  })
  const rows = events.expected
  await stage.step('the table is dropped on both, and its znodes', async () => {
    await north.query(`DROP TABLE events ON CLUSTER ${cluster}`)
    await until('the znodes are still there', patienceMs, async () => {
      const reply = await stage.look((client) => {
        return client.call('exists', { path: tablePath, watch: false })
      })
      return reply.response === undefined
    })
  })
  return `${events.blocks} blocks inserted (${events.retries} tried again), ${rows} rows alike`
}

async function startReplicas(stage: Stage, debian: Unpacked): Promise<[Replica, Replica]> {
  const ports = await freePorts(3 * names.length)
  const all = names.map((_, i): ReplicaPorts => {
    const [http, tcp, interserver] = ports.slice(3 * i)
    return { http: http!, tcp: tcp!, interserver: interserver! }
  })
  const [north, south] = names.map((name, i) => new Replica(stage, debian, name, all[i]!, all))
  return [north!, south!]
}

/**
 * Numbered rows, inserted in blocks until they are accepted; a block that is accepted twice counts
 * once.
 */
class Events {
  blocks = 0
  retries = 0
  /** The number of rows that must exist. */
  expected = 0
  private readonly replicas: readonly Replica[]

  constructor(replicas: readonly Replica[]) {
    this.replicas = replicas
  }

  async insert(replica: Replica): Promise<void> {
    const block = this.blocks++
    this.expected += blockRows
    await this.tryUntilAccepted(replica, block)
  }

  /** Inserts on the replicas in turn. */
  async insertMany(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.insert(this.replicas[i % this.replicas.length]!)
  }

  async repeatLast(replica: Replica): Promise<void> {
    await this.tryUntilAccepted(replica, this.blocks - 1)
  }

  async deleteOdd(replica: Replica): Promise<void> {
    await untilDone(patienceMs, () => replica.query('ALTER TABLE events DELETE WHERE n % 2 = 1'))
    this.expected /= 2
  }

  /** Waits until both replicas have every row. */
  async untilAlike(): Promise<void> {
    const sql = 'select count(), sum(n), sum(cityHash64(n)) from events'
    let found: readonly string[] = []
    try {
      await until('the replicas are not alike', patienceMs, async () => {
        const asked = this.replicas.map((each) => each.query(sql).catch(String))
        found = await Promise.all(asked)
        return found.every((text) => text === found[0] && text.startsWith(`${this.expected}\t`))
      })
    } catch (error) {
      const seen = found.join(' and ')
      throw new Error(`${String(error)}: ${this.expected} expected, ${seen}`, { cause: error })
    }
  }

  private async tryUntilAccepted(replica: Replica, block: number): Promise<void> {
    const first = block * blockRows
    const values = Array.from({ length: blockRows }, (_, i) => `('2026-01-02',${first + i})`)
    const sql = `INSERT INTO events (day, n) VALUES ${values.join()}`
    let attempts = 0
    await untilDone(patienceMs, () => {
      if (attempts++ > 0) this.retries++
      return replica.query(sql)
    })
  }
}
