import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@zabra/client'
import type { RunningServer } from '@zabra/server'
import { dashboard } from '../../deploy/grafana/dashboard.ts'
import { EmbeddedEnsemble } from '../../packages/server/test/support/embedded-ensemble.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { unpackDebian, type Unpacked } from '../apps/install/debian.ts'
import { loopback } from '../src/servers.ts'
import { mkdir } from './base-systems.ts'
import { clean, deploy, MissingTool } from './tools.ts'

const rulesFile = join(deploy, 'prometheus/zabra-rules.yaml')
const patienceMs = 60_000

async function prometheus(): Promise<Unpacked> {
  const debian = await unpackDebian('prometheus', ['prometheus'])
  if (debian.ok) return debian
  throw new MissingTool(`Debian's prometheus cannot be had: ${JSON.stringify(debian)}`)
}

/** The rules are well formed, and fire as they should on made-up series. */
export async function testRules(): Promise<string> {
  const promtool = join((await prometheus()).root, 'usr/bin/promtool')
  const found = await clean(promtool, ['check', 'rules', rulesFile])
  await clean(promtool, ['test', 'rules', rulesFile.replace('.yaml', '.test.yaml')])
  const tested = readFileSync(rulesFile.replace('.yaml', '.test.yaml'), 'utf8')
  const untested = alertsOf(readFileSync(rulesFile, 'utf8')).filter(
    (name) => !tested.includes(name),
  )
  if (untested.length > 0) throw new Error(`no test for ${untested.join(', ')}`)
  return found.match(/\d+ rules found/)![0]
}

/** The documentation explains each alert. */
export function explained(documentation: string): string {
  const alerts = alertsOf(readFileSync(rulesFile, 'utf8'))
  const missing = alerts.filter((name) => !documentation.includes(`\`${name}\``))
  if (missing.length > 0) throw new Error(`not explained: ${missing.join(', ')}`)
  return `${alerts.length} alerts`
}

function alertsOf(rules: string): string[] {
  return [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
}

/** zabra.json is the output of dashboard.ts. */
export function dashboardIsFresh(): string {
  const file = readFileSync(join(deploy, 'grafana/zabra.json'), 'utf8')
  if (JSON.stringify(JSON.parse(file)) !== JSON.stringify(dashboard()))
    throw new Error('deploy/grafana/zabra.json is old: npx tsx deploy/grafana/dashboard.ts')
  return `${expressions().length} queries`
}

/** Every query of the dashboard, for one ensemble and all its servers. */
function expressions(): string[] {
  const { panels } = dashboard() as { panels: { targets?: { expr: string }[] }[] }
  return panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll('$job', 'zabra').replaceAll('$instance', '.*'))
    .map((expr) => expr.replaceAll('$__rate_interval', '10s'))
}

interface Answer {
  readonly status: string
  readonly error?: string
  readonly data: {
    readonly result: readonly unknown[]
    readonly groups: readonly { readonly rules: readonly Rule[] }[]
    readonly alerts: readonly { readonly labels: { readonly alertname: string } }[]
  }
}

interface Rule {
  readonly name: string
  readonly query: string
  readonly health: string
  readonly lastError?: string
}

/**
 * A real Prometheus on a real ensemble: every query of the dashboard and the rules finds data, and
 * a stopped server fires its alerts.
 */
export async function watchEnsemble(folder: string): Promise<string> {
  const debian = await prometheus()
  const ensemble = await MonitoredEnsemble.start()
  const port = (await freePorts(1))[0]!
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: [{ job_name: 'zabra', static_configs: [{ targets: ensemble.targets }] }],
  }
  // YAML is a superset of JSON.
  const configFile = join(folder, 'prometheus.yml')
  writeFileSync(configFile, JSON.stringify(config))
  const args = [
    `--config.file=${configFile}`,
    `--storage.tsdb.path=${mkdir(join(folder, 'prometheus'))}`,
    `--web.listen-address=${loopback}:${port}`,
  ]
  const child = spawn(join(debian.root, 'usr/bin/prometheus'), args, {
    env: debian.env,
    stdio: 'ignore',
  })
  const ended = once(child, 'close')
  const ask = async (path: string): Promise<Answer> => {
    const response = await fetch(`http://${loopback}:${port}/api/v1/${path}`)
    return (await response.json()) as Answer
  }
  const finds = async (expression: string): Promise<boolean> => {
    const { status, error, data } = await ask(`query?query=${encodeURIComponent(expression)}`)
    if (status !== 'success') throw new Error(`${expression}: ${error}`)
    return data.result.length > 0
  }
  try {
    await until('all servers are scraped', () => finds('count(up{job="zabra"} == 1) == 3'))
    await ensemble.work()
    const queries = expressions()
    for (const query of queries) await until(`"${query}" finds something`, () => finds(query))

    const rules = (await ask('rules')).data.groups.flatMap((group) => group.rules)
    for (const { name, query, health, lastError } of rules) {
      if (health !== 'ok') throw new Error(`${name}: ${lastError ?? health}`)
      for (const metric of metricsIn(query))
        await until(`${metric}, which ${name} needs, is there`, () => finds(metric))
    }
    const raised = async (): Promise<string[]> =>
      (await ask('alerts')).data.alerts.map(({ labels }) => labels.alertname)
    const early = await raised()
    if (early.length > 0) throw new Error(`an ensemble at rest raises ${early.join(', ')}`)
    await ensemble.stopFollower()
    for (const alert of ['ZabraServerDown', 'ZabraFollowerMissing'])
      await until(`${alert} is pending`, async () => (await raised()).includes(alert))
    return `${queries.length} queries, ${rules.length} rules, on three servers; ${debian.version}`
  } finally {
    child.kill('SIGTERM')
    await ended
    await ensemble.stop()
  }
}

function metricsIn(query: string): Set<string> {
  const names = [...query.matchAll(/\b([a-z][a-z0-9_]+)\{/g)].map(([, name]) => name!)
  return new Set(names)
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + patienceMs
  // Connections are refused while Prometheus starts.
  while (
    !(await isSo().catch((error: Error) => performance.now() > endMs && Promise.reject(error)))
  ) {
    if (performance.now() > endMs) throw new Error(`never: ${what}`)
    await delay(200)
  }
}

/** Three servers in this process, with their admin ports. */
class MonitoredEnsemble {
  private readonly ensemble: EmbeddedEnsemble

  private constructor(ensemble: EmbeddedEnsemble) {
    this.ensemble = ensemble
  }

  static async start(): Promise<MonitoredEnsemble> {
    const settings = { 'admin.enableServer': 'true', 'admin.serverPort': '0' }
    return new MonitoredEnsemble(await EmbeddedEnsemble.start(settings))
  }

  private get servers(): RunningServer[] {
    return [...this.ensemble.servers.values()]
  }

  get targets(): string[] {
    return this.servers.map(({ adminAddress }) => new URL(adminAddress!).host)
  }

  /** Some of everything: reads, writes, watches and a quota, on every server. */
  async work(): Promise<void> {
    for (const [i, { connectString }] of this.servers.entries()) {
      const client = await connect(connectString)
      await client.create(`/app-${i}`, '', { ephemeral: true })
      if (i === 0) {
        await client.ensure('/app')
        await client.ensure('/zookeeper/quota/app')
        const limits = 'count=-1,bytes=-1=;byteHardLimit=10000;countHardLimit=100'
        await client.create('/zookeeper/quota/app/zookeeper_limits', limits)
        await client.create('/zookeeper/quota/app/zookeeper_stats', 'count=1,bytes=0')
      }
      for (let write = 0; write < 100; write++) await client.set('/app', String(write))
      await client.get('/app')
      await client.close()
    }
  }

  async stopFollower(): Promise<void> {
    await this.ensemble.stop(this.ensemble.followers[0]!)
  }

  async stop(): Promise<void> {
    await this.ensemble.dispose()
  }
}
