import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFlags } from '@zabra/protocol'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import { openAcl, RawClient } from '../../../packages/server/test/support/raw-client.ts'
import { loopback } from '../../src/servers.ts'
import type { Application } from '../application.ts'
import { unpackDebian, type Unpacked } from '../install/debian.ts'
import type { Stage } from '../stage.ts'
import { until } from '../../src/until.ts'

const patienceMs = 40_000

/** Prometheus' two kinds of service discovery in ZooKeeper: serversets (Finagle) and Nerve. */
export const prometheus: Application = {
  name: 'prometheus',
  exercise: 'serverset and nerve discovery: targets come and go, over kills of leader and follower',
  async prepare() {
    const debian = await unpackDebian('prometheus', ['prometheus'])
    if (!debian.ok) return debian
    return { ok: true, version: debian.version, run: (stage) => run(stage, debian) }
  },
}

type Kind = 'serverset' | 'nerve'

async function run(stage: Stage, debian: Unpacked): Promise<string> {
  const { ensemble } = stage
  const discovery = new Discovery(stage, debian, (await freePorts(1))[0]!)
  await stage.step('prometheus starts and finds no targets', () => discovery.start())
  const kinds: readonly Kind[] = ['serverset', 'nerve']
  let changes = 0
  const expectAll = async (count: number): Promise<void> => {
    for (const kind of kinds) await discovery.expect(kind, count)
    changes++
  }

  const registrar = await stage.step('members register, and are targets', async () => {
    const client = await RawClient.connect(ensemble.anyPort, { timeoutMs: 60_000 })
    for (const kind of kinds) for (let i = 0; i < 5; i++) await register(client, kind, i, true)
    await expectAll(5)
    return client
  })
  await stage.step('targets found so are scraped', () => discovery.untilHealthy())
  await stage.step('a member vanishes, and its target', async () => {
    for (const kind of kinds) await registrar.must('delete', { path: member(kind, 0), version: -1 })
    await expectAll(4)
  })
  await stage.step('the leader is killed: no target is lost', async () => {
    await ensemble.kill('leader')
    await expectAll(4)
  })
  await stage.step('members register while a server is down', async () => {
    await stage.look(async (client) => {
      for (const kind of kinds) await register(client, kind, 10, false)
    })
    await expectAll(5)
  })
  await stage.step('the killed server returns, a follower is killed', async () => {
    await ensemble.heal()
    await ensemble.kill('follower')
    await ensemble.heal()
    await expectAll(5)
  })
  await stage.step('a member changes its port, and its target', async () => {
    await stage.look(async (client) => {
      for (const kind of kinds) {
        const data = Buffer.from(JSON.stringify(describe(kind, 99)))
        await client.must('setData', { path: member(kind, 10), data, version: -1 })
      }
    })
    for (const kind of kinds) {
      await until(`${kind} shows no changed target`, patienceMs, async () => {
        return (await discovery.targets(kind)).includes(`${loopback}:${9000 + 99}`)
      })
    }
    changes++
  })
  await stage.step('the session of the members ends, and they vanish', async () => {
    const again = await RawClient.connect(ensemble.anyPort, {
      session: { sessionId: registrar.sessionId, password: registrar.password },
    })
    await again.close()
    await expectAll(1)
  })
  return `${changes} changes seen by both`
}

const folder = (kind: Kind): string => `/discovery/${kind}`
const member = (kind: Kind, i: number): string => `${folder(kind)}/member_${i}`

/** Each kind has its own format for members. */
function describe(kind: Kind, i: number): object {
  const address = { host: loopback, port: 9000 + i }
  if (kind === 'nerve') return { ...address, name: `member_${i}` }
  return { serviceEndpoint: address, additionalEndpoints: {}, status: 'ALIVE', shard: i }
}

async function register(client: RawClient, kind: Kind, i: number, isEphemeral: boolean) {
  const data = Buffer.from(JSON.stringify(describe(kind, i)))
  const flags = isEphemeral ? createFlags.ephemeral : createFlags.persistent
  await client.must('create', { path: member(kind, i), data, acl: openAcl, flags })
}

class Discovery {
  private readonly stage: Stage
  private readonly debian: Unpacked
  private readonly port: number

  constructor(stage: Stage, debian: Unpacked, port: number) {
    this.stage = stage
    this.debian = debian
    this.port = port
  }

  async start(): Promise<void> {
    const { stage, debian, port } = this
    await stage.look(async (client) => {
      for (const path of ['/discovery', folder('serverset'), folder('nerve')]) {
        const flags = createFlags.persistent
        await client.must('create', { path, data: new Uint8Array(), acl: openAcl, flags })
      }
    })
    const servers = stage.ensemble.connectString.split(',')
    const job = (kind: Kind): object => ({
      job_name: kind,
      [`${kind}_sd_configs`]: [{ servers, paths: [folder(kind)], timeout: '6s' }],
      // Whatever address a member has, Prometheus scrapes itself, which is certainly up.
      relabel_configs: [
        { source_labels: ['__address__'], target_label: 'found' },
        { target_label: '__address__', replacement: `${loopback}:${port}` },
      ],
    })
    const config = {
      global: { scrape_interval: '1s' },
      scrape_configs: [job('serverset'), job('nerve')],
    }
    const file = join(stage.dir, 'prometheus.yml')
    writeFileSync(file, JSON.stringify(config))
    const data = join(stage.dir, 'data')
    mkdirSync(data)
    const daemon = stage.daemon(
      'prometheus',
      [
        join(debian.root, 'usr/bin/prometheus'),
        `--config.file=${file}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=${loopback}:${port}`,
      ],
      { env: debian.env },
    )
    await daemon.untilSays(/Server is ready to receive web requests/, patienceMs)
    await this.expect('serverset', 0)
    await this.expect('nerve', 0)
  }

  async expect(kind: Kind, count: number): Promise<void> {
    await until(`${kind} does not have ${count} targets`, patienceMs, async () => {
      return (await this.targets(kind)).length === count
    })
  }

  async targets(kind: Kind): Promise<readonly string[]> {
    return (await this.active())
      .filter(({ labels }) => labels.job === kind)
      .map(({ labels }) => labels.found)
  }

  async untilHealthy(): Promise<void> {
    await until('not every target is up', patienceMs, async () => {
      return (await this.active()).every(({ health }) => health === 'up')
    })
  }

  private async active(): Promise<readonly Target[]> {
    const answer = await fetch(`http://${loopback}:${this.port}/api/v1/targets?state=active`)
    const { data } = (await answer.json()) as { data: { activeTargets: Target[] } }
    return data.activeTargets
  }
}

interface Target {
  readonly labels: { readonly job: string; readonly found: string }
  readonly health: string
}
