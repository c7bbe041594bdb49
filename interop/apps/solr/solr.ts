import { delimiter, join } from 'node:path'
import { unprepared } from '../../clients/client.ts'
import { compile } from '../../clients/java/prepare.ts'
import type { Application } from '../application.ts'
import { fetchJars } from '../install/maven.ts'
import type { Stage } from '../stage.ts'
import { until, untilDone } from '../../src/until.ts'
import { SolrNodes } from './nodes.ts'

const version = '9.7.0'
const patienceMs = 120_000
const collection = 'papers'

/** SolrCloud: nodes, collections, shard leaders and the overseer's queue are all in ZooKeeper. */
export const solr: Application = {
  name: 'solr',
  exercise: 'three nodes: a collection kept while the overseer, leader and follower are killed',
  async prepare() {
    const jars = await fetchJars(`solr-${version}`, [
      `org.apache.solr:solr-core:${version}`,
      `org.apache.solr:solr-test-framework:${version}`,
    ])
    if (!jars.ok) return jars
    const classes = await compile('solr', ['Node'], jars.classPath, import.meta.dirname)
    if (!classes.ok) return unprepared('javac failed', classes.output)
    const classPath = [classes.dir, jars.classPath].join(delimiter)
    return { ok: true, version, run: (stage) => run(stage, classPath) }
  },
}

async function run(stage: Stage, classPath: string): Promise<string> {
  const { ensemble } = stage
  const nodes = new SolrNodes(stage, classPath)
  const papers = new Papers(nodes)
  await stage.step('a configuration is put into ZooKeeper', async () => {
    await nodes.control('mkroot', '--path', '/solr', '-z', ensemble.connectString)
    const folder = join(import.meta.dirname, 'configset')
    await nodes.control('upconfig', '-n', 'interop', '-d', folder, '-z', nodes.zkHost)
  })
  await stage.step('three nodes are live, one of them oversees', async () => {
    await nodes.start(3)
    await nodes.untilLive(3, patienceMs)
    await until('nobody oversees', patienceMs, async () => (await nodes.overseer()) !== undefined)
  })
  await stage.step('a collection of two shards, three times', async () => {
    await untilDone(patienceMs, () => {
      const shape = 'numShards=2&replicationFactor=3&collection.configName=interop'
      return nodes.ask(`admin/collections?action=CREATE&name=${collection}&${shape}`)
    })
    await papers.untilWhole()
    await papers.add(500)
  })
  await stage.step('the leader of the ensemble is killed', async () => {
    await ensemble.kill('leader')
    await papers.add(500)
    await papers.expectAll()
  })
  const lost = await stage.step(
    'the overseer is killed meanwhile: another one oversees',
    async () => {
      const victim = (await nodes.overseer())!
      await nodes.of(victim).stop('SIGKILL')
      await until('nobody else oversees', patienceMs, async () => {
        const now = await nodes.overseer()
        return now !== undefined && now !== victim
      })
      await papers.add(500)
      await papers.expectAll()
      return victim
    },
  )
  await stage.step('server and node return, and all replicas are active', async () => {
    await ensemble.heal()
    nodes.of(lost).start()
    await nodes.untilLive(3, patienceMs)
    await papers.untilWhole()
    await ensemble.kill('follower')
    await papers.add(300)
    await ensemble.heal()
  })
  await stage.step('every document is there', () => papers.expectAll())
  await stage.step('an alias is made, used and removed', async () => {
    await nodes.ask(`admin/collections?action=CREATEALIAS&name=all&collections=${collection}`)
    await untilDone(patienceMs, () => papers.expectAll('all'))
    await nodes.ask('admin/collections?action=DELETEALIAS&name=all')
  })
  await stage.step('the collection is deleted', async () => {
    await nodes.ask(`admin/collections?action=DELETE&name=${collection}`)
    await until('the collection is still there', patienceMs, async () => {
      return !(await nodes.children('/collections')).includes(collection)
    })
  })
  return `${papers.count} documents acknowledged, 0 missing`
}

interface Status {
  readonly cluster: {
    readonly collections: Readonly<
      Record<
        string,
        {
          readonly shards: Readonly<Record<string, { replicas: Record<string, { state: string }> }>>
        }
      >
    >
  }
}

/** Numbered documents; one that is accepted twice exists once, because it has an id. */
class Papers {
  count = 0
  private readonly nodes: SolrNodes

  constructor(nodes: SolrNodes) {
    this.nodes = nodes
  }

  async add(count: number): Promise<void> {
    const batch = 50
    for (const end = this.count + count; this.count < end; this.count += batch) {
      const documents = Array.from({ length: batch }, (_, i) => ({ id: `${this.count + i}` }))
      await untilDone(patienceMs, () => this.nodes.ask(`${collection}/update`, documents))
    }
  }

  async expectAll(name = collection): Promise<void> {
    await untilDone(patienceMs, () => this.nodes.ask(`${name}/update?commit=true`, []))
    const query = `${name}/select?q=*:*&rows=0`
    const { response } = await untilDone(patienceMs, () => {
      return this.nodes.ask<{ response: { numFound: number } }>(query)
    })
    if (response.numFound !== this.count) {
      throw new Error(`${response.numFound} documents of ${this.count}`)
    }
  }

  async untilWhole(): Promise<void> {
    await until('not all replicas are active', patienceMs, async () => {
      const { cluster } = await this.nodes.ask<Status>('admin/collections?action=CLUSTERSTATUS')
      const shards = Object.values(cluster.collections[collection]?.shards ?? {})
      const replicas = shards.flatMap((shard) => Object.values(shard.replicas))
      return replicas.length === 6 && replicas.every(({ state }) => state === 'active')
    })
  }
}
