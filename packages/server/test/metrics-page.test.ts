/** docs/metrics.md lists every metric of any server in any role. */
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { Authority } from './support/certificates.ts'
import { EmbeddedEnsemble } from './support/embedded-ensemble.ts'
import { RawClient } from './support/raw-client.ts'

interface Described {
  readonly type: string
  readonly help: string
  /** Whether this name has several values that differ in the label `key`. */
  readonly isKeyed: boolean
}

const withAdmin = { 'admin.enableServer': 'true', 'admin.serverPort': '0' }
const pages: Record<'alone' | 'leader' | 'follower', ReadonlyMap<string, Described>> = {
  alone: new Map(),
  leader: new Map(),
  follower: new Map(),
}

beforeAll(async () => {
  const authority = new Authority()
  let alone: RunningServer | undefined
  const ensemble = await EmbeddedEnsemble.start(withAdmin)
  try {
    authority.issueFile('server')
    const secure = { ...authority.settings('ssl.'), secureClientPort: 0 }
    alone = await startServer({ config: { ...withAdmin, ...secure } })
    const client = await RawClient.connect(alone.clientPort)
    await client.create('/zookeeper/quota/app')
    await client.create('/zookeeper/quota/app/zookeeper_limits', 'count=5,bytes=-1')
    await client.create('/zookeeper/quota/app/zookeeper_stats', 'count=0,bytes=0')
    await client.close()
    pages.alone = await read(alone)
    pages.leader = await read(ensemble.server(ensemble.leader))
    pages.follower = await read(ensemble.server(ensemble.followers[0]!))
  } finally {
    await alone?.stop()
    await ensemble.dispose()
    authority.dispose()
  }
})

async function read({ adminAddress }: RunningServer): Promise<Map<string, Described>> {
  const text = await (await fetch(`${adminAddress}/metrics`)).text()
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, a, b]) => [a!, b!]))
  return new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) => {
      const isKeyed = text.includes(`\n${name}{key=`)
      return [name!, { type: types.get(name!)!, help: help!, isKeyed }]
    }),
  )
}

function table(metrics: Iterable<readonly [string, Described]>): string {
  const rows = [...metrics]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { type, help, isKeyed }]) => {
      const shown = isKeyed ? `${name}{key="..."}` : name
      return `| \`${shown}\` | ${type} | ${help.replaceAll('|', String.raw`\|`)} |`
    })
  return ['| Metric | Type | Meaning |', '|---|---|---|', ...rows].join('\n')
}

// `npx vitest run packages/server/test/metrics-page.test.ts -u` updates the page.
// Only Linux counts file descriptors.
test.runIf(process.platform === 'linux')('the page has every metric', async () => {
  const { alone, leader, follower } = pages
  const all = new Map([...leader, ...follower, ...alone])
  const isUnused = ({ help }: Described): boolean => help.startsWith('Always 0')
  const entries = [...all].filter(([, metric]) => !isUnused(metric))
  const unused = [...all].filter(([, metric]) => isUnused(metric)).map(([name]) => `\`${name}\``)
  const parts = [
    '# All metrics',
    'This page is generated from a running server. [Monitoring](monitoring.md#prometheus) says which of these metrics to watch.\n' +
      'In `mntr` the same names begin with `zk_`, and the text values `zk_version`, `zk_server_state` and `zk_peer_state` show version\n' +
      'and role. A summary has `_sum` and `_count`, and those of latencies have quantiles of the last minute.',
    '## Every server',
    table(entries.filter(([name]) => alone.has(name))),
    '## Members of an ensemble',
    table(entries.filter(([name]) => !alone.has(name) && follower.has(name))),
    '## Leaders',
    table(entries.filter(([name]) => !alone.has(name) && !follower.has(name))),
    '## Always 0',
    'ZooKeeper has these counters. zabra reports them as 0, so that dashboards and alerts which add them up keep working:\n' +
      `${unused.toSorted().join(', ')}.`,
  ]
  await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot('../../../docs/metrics.md')
})

test('the page on monitoring names no metric that does not exist', () => {
  const page = readFileSync(new URL('../../../docs/monitoring.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## Prometheus\n([^]*?)^## /m.exec(page)!
  const rows = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, names]) => names!)
  const names = rows.flatMap((row) =>
    [...row.matchAll(/`([^`{]+)[^`]*`/g)].map(([, name]) => name!),
  )
  expect(names.length).toBeGreaterThan(50)
  const known = Object.values(pages).flatMap((metrics) => [...metrics.keys()])
  const isKnown = (name: string): boolean => {
    const pattern = new RegExp(`^${name.replaceAll(/\*|[A-Z]+/g, '.*')}$`)
    return known.some((metric) => pattern.test(metric))
  }
  expect(names.filter((name) => !isKnown(name))).toEqual([])
})
