import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFlags } from '@zabra/protocol'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { digestOf } from '../auth/authenticator.ts'
import { startServer, type StartOptions } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'
import { RawClient } from '../../test/support/raw-client.ts'
import { ephemeral, TestSession } from '../../test/support/ask.ts'

const withAdmin = {
  'admin.enableServer': 'true',
  'admin.serverPort': 0,
  'admin.rateLimiterIntervalInMS': 0,
  'admin.identities': `digest:${digestOf('user:password')}; digest:${digestOf('a:b')}`,
}
const authorized = { Authorization: 'digest user:password' }
const snapshotType = { 'Content-Type': 'application/octet-stream' }

let server: RunningServer
let session: TestSession

beforeEach(async () => {
  server = await startServer({ config: withAdmin })
  session = await TestSession.open(server.clientPort)
})

afterEach(async () => {
  session.close()
  await server.stop()
})

async function startAnother(options: StartOptions): Promise<RunningServer> {
  const another = await startServer(options)
  onTestFinished(() => another.stop())
  return another
}

const get = (path: string, init?: RequestInit): Promise<Response> =>
  fetch(`${server.adminAddress}${path}`, init)
const textOf = async (path: string): Promise<string> => (await get(path)).text()
const command = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse(await (await get(`/commands/${name}`, { headers: authorized })).text()) as Record<
    string,
    unknown
  >

describe('commands', () => {
  test('are listed as links, sorted', async () => {
    const lines = (await textOf('/commands')).split('\n')
    expect(lines[0]).toBe('<a href="/commands/configuration">configuration</a>')
    expect(lines[1]).toBe('<br/>')
    expect(lines.filter((line) => line.startsWith('<a'))).toEqual(
      lines.filter((line) => line.startsWith('<a')).toSorted(),
    )
    expect(await textOf('/commands/')).toBe(lines.join('\n'))
  })

  test('answer in JSON laid out as ZooKeeper does it', async () => {
    const response = await get('/commands/wchs')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.text()).toBe(`{
  "num_connections" : 0,
  "num_paths" : 0,
  "num_total_watches" : 0,
  "command" : "watch_summary",
  "error" : null
}`)
  })

  test('write 64-bit numbers as numbers, and lists on one line', async () => {
    await session.create('/a')
    await session.create('/e', '', ephemeral)
    await session.watch('/a')
    const id = session.sessionId
    expect(id > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true)
    expect(await textOf('/commands/watches_by_path')).toContain(`"/a" : [ ${id} ]`)
    expect(await textOf('/commands/watches')).toContain(`"${id}" : [ "/a" ]`)
    expect(await textOf('/commands/dump')).toContain(`"${id}" : [ "/e" ]`)
    expect(await textOf('/commands/cons')).toContain(`"session_id" : ${id},`)
    expect(await textOf('/commands/cons')).toContain('"secure_connections" : [ ],')
  })

  test('answer 200 with an error if they are unknown', async () => {
    const response = await get('/commands/nonsense')
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(
      '{\n  "command" : "nonsense",\n  "error" : "Unknown command: nonsense"\n}',
    )
  })

  test('put the error first', async () => {
    expect(await textOf('/commands/lead')).toBe(
      '{\n  "error" : "server is not initialized",\n  "command" : "leader"\n}',
    )
    expect((await command('stmk?traceMask=abc'))['error']).toBe(
      'setTraceMask requires long traceMask argument, got abc',
    )
  })

  test.each([
    ['conf', 'configuration', 'client_port'],
    ['config', 'configuration', 'server_id'],
    ['dirs', 'dirs', 'datadir_size'],
    ['envi', 'environment', 'zookeeper.version'],
    ['env', 'environment', 'os.memory.max'],
    ['gtmk', 'get_trace_mask', 'tracemask'],
    ['hash', 'hash', 'digests'],
    ['icfg', 'initial_configuration', 'initial_configuration'],
    ['isro', 'is_read_only', 'read_only'],
    ['lsnp', 'last_snapshot', 'timestamp'],
    ['mntr', 'monitor', 'znode_count'],
    ['obsr', 'observers', 'observers'],
    ['srvr', 'server_stats', 'server_stats'],
    ['stat', 'stats', 'connections'],
    ['voting_view', 'voting_view', 'current_config'],
    ['zabstate', 'zabstate', 'voting'],
    ['ruok', 'ruok', 'command'],
    ['sysp', 'system_properties', 'command'],
    ['crst', 'connection_stat_reset', 'error'],
    ['srst', 'stat_reset', 'error'],
    ['orst', 'observer_connection_stat_reset', 'error'],
  ])('%s is %s and tells %s', async (alias, name, key) => {
    const answer = await command(alias)
    expect(answer['command']).toBe(name)
    expect(answer['error']).toBeNull()
    expect(answer).toHaveProperty([key])
  })

  test('need the right method', async () => {
    expect((await get('/commands/ruok', { method: 'HEAD' })).status).toBe(200)
    expect((await get('/commands/ruok', { method: 'POST' })).status).toBe(405)
    expect((await get('/commands/ruok', { method: 'DELETE' })).status).toBe(405)
    const headers = { Authorization: 'digest a:b' }
    expect((await get('/commands/restore', { headers })).status).toBe(405)
  })

  test('hide passwords of the configuration', async () => {
    const secret = await startAnother({
      config: {
        ...withAdmin,
        'DigestAuthenticationProvider.superDigest': 'super:D/InIHSb7yEEbrWz8b9l71RjZJU=',
      },
    })
    const shown = await (await fetch(`${secret.adminAddress}/commands/sysp`)).text()
    expect(shown).not.toContain('D/InIHSb7yEEbrWz8b9l71RjZJU')
  })

  test('nothing else is found', async () => {
    expect((await get('/index.html')).status).toBe(404)
    expect((await get('/commandsx')).status).toBe(404)
  })
})

describe('snapshot', () => {
  const headers = { Authorization: 'digest user:password' }

  test('needs an administrator, or an identity that the root ACL names', async () => {
    const missing = await get('/commands/snapshot')
    expect(missing.status).toBe(401)
    expect(await missing.text()).toContain('"error" : "Auth info is missing for the command"')
    const unknown = await get('/commands/snap', { headers: { Authorization: 'nope a:b' } })
    expect(unknown.status).toBe(401)
    expect(await unknown.text()).toContain('"error" : "Not authenticated"')
    const { db } = server.peer
    const acl = [{ perms: 31, id: { scheme: 'digest', id: digestOf('owner:secret') } }]
    const entry = db.acls.intern(acl)
    db.acls.acquire(entry.id)
    db.tree.setAcl(db.tree.find('/'), '/', entry.id, 1)
    const stranger = { Authorization: 'digest stranger:password' }
    expect((await get('/commands/snapshot', { headers: stranger })).status).toBe(403)
    const owner = { Authorization: 'digest owner:secret' }
    expect((await get('/commands/snapshot', { headers: owner })).status).toBe(200)
  })

  test('is sent, with its size and its last zxid', async () => {
    await session.create('/a')
    const response = await get('/commands/snapshot', { headers })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(response.headers.get('last_zxid')).toBe('0x2')
    expect(response.headers.get('snapshot_size')).toBe(String(bytes.length))
    expect(bytes.subarray(0, 4).toString()).toBe('ZKSN')
    expect(bytes.includes('/a')).toBe(true)
    expect(await command('last_snapshot')).toMatchObject({ zxid: '2' })
  })

  test('is only taken, not sent, with streaming=false', async () => {
    const response = await get('/commands/snapshot?streaming=false', { headers })
    expect(response.headers.get('last_zxid')).toBe('0x1')
    expect(await response.text()).toBe('{\n  "command" : "snapshot",\n  "error" : null\n}')
  })

  test('is refused if requested too often, or if disabled', async () => {
    const limited = await startAnother({
      config: { ...withAdmin, 'admin.rateLimiterIntervalInMS': 60_000 },
    })
    const url = `${limited.adminAddress}/commands/snapshot?streaming=false`
    expect((await fetch(url, { headers })).status).toBe(200)
    expect((await fetch(url, { headers })).status).toBe(429)
    expect(limited.adminCounts.snapshotsRateLimited).toBe(1)
    const off = await startAnother({ config: { ...withAdmin, 'admin.snapshot.enabled': 'false' } })
    expect((await fetch(`${off.adminAddress}/commands/snapshot`, { headers })).status).toBe(503)
  })

  test('is refused if it could not be restored', async () => {
    const without = await startAnother({
      config: { ...withAdmin, 'serializeLastProcessedZxid.enabled': 'false' },
    })
    for (const [name, method] of [
      ['snapshot', 'GET'],
      ['restore', 'POST'],
    ] as const) {
      const response = await fetch(`${without.adminAddress}/commands/${name}`, {
        method,
        headers: { ...headers, ...snapshotType },
      })
      expect(response.status).toBe(500)
      expect(await response.text()).toContain('serializeLastProcessedZxid.enabled')
    }
  })
})

describe('restore', () => {
  const headers = { ...authorized, ...snapshotType }
  const take = async (): Promise<Uint8Array> =>
    new Uint8Array(await (await get('/commands/snapshot', { headers })).arrayBuffer())
  const restore = (body: Uint8Array | string, url = server.adminAddress): Promise<Response> =>
    fetch(`${url}/commands/restore`, { method: 'POST', headers, body })

  test('brings back the content of a snapshot, and returns its zxid as a number', async () => {
    await session.create('/kept')
    const taken = await take()
    await session.create('/later')
    const response = await restore(taken)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(
      '{\n  "last_zxid" : 2,\n  "command" : "restore",\n  "error" : null\n}',
    )
    const { tree } = server.peer.db
    expect(tree.find('/kept')).not.toBe(0)
    expect(tree.find('/later')).toBe(0)
  })

  test('continues after every zxid in use', async () => {
    const taken = await take()
    await session.create('/later')
    const before = server.peer.lastZxid
    await restore(taken)
    expect(server.peer.lastZxid).toBe(before + 1n)
    const again = await TestSession.open(server.clientPort)
    expect(await again.create('/more')).toBe(0)
    again.close()
  })

  test('keeps the sessions that the snapshot contains', async () => {
    const known = await RawClient.connect(server.clientPort)
    await known.create('/mine', null, createFlags.ephemeral)
    const taken = await take()
    const late = await RawClient.connect(server.clientPort)
    await restore(taken)
    const resumed = await RawClient.connect(server.clientPort, { session: known })
    const { ephemerals } = await resumed.must('getEphemerals', { prefixPath: '/' })
    expect(ephemerals).toEqual(['/mine'])
    await expect(RawClient.connect(server.clientPort, { session: late })).rejects.toThrow()
    await resumed.close()
  })

  test.each(['gz', 'snappy'])('takes a snapshot compressed as %s', async (method) => {
    const packing = await startAnother({
      config: { ...withAdmin, 'snapshot.compression.method': method },
    })
    const client = await TestSession.open(packing.clientPort)
    await client.create('/packed')
    client.close()
    const url = `${packing.adminAddress}/commands/snapshot`
    const taken = new Uint8Array(await (await fetch(url, { headers })).arrayBuffer())
    expect((await restore(taken)).status).toBe(200)
    expect(server.peer.db.tree.find('/packed')).not.toBe(0)
  })

  test('changes nothing if the body is damaged, cut off, empty, or no snapshot', async () => {
    await session.create('/kept')
    const taken = await take()
    const damaged = Uint8Array.from(taken)
    damaged[damaged.length >> 1]! ^= 1
    for (const body of [damaged, taken.subarray(0, taken.length - 30), '', 'nonsense']) {
      const response = await restore(body)
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('Nothing was restored')
    }
    expect(await session.create('/still')).toBe(0)
    expect(await textOf('/metrics')).toContain('\nrestore_error_count 4\n')
  })

  test('is refused if requested too often, if disabled, or without permission', async () => {
    const limited = await startAnother({
      config: { ...withAdmin, 'admin.rateLimiterIntervalInMS': 60_000 },
    })
    const taken = await take()
    expect((await restore(taken, limited.adminAddress)).status).toBe(200)
    expect((await restore(taken, limited.adminAddress)).status).toBe(429)
    expect(limited.adminCounts.restoresRateLimited).toBe(1)
    const off = await startAnother({ config: { ...withAdmin, 'admin.restore.enabled': 'false' } })
    expect((await restore(taken, off.adminAddress)).status).toBe(503)
    expect((await get('/commands/restore', { method: 'POST', body: taken })).status).toBe(401)
  })

  test('survives a restart', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'zabra-restore-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
    await session.create('/restored')
    const taken = await take()
    const config = { ...withAdmin, dataDir, preAllocSize: 64 }
    const first = await startServer({ config })
    const client = await TestSession.open(first.clientPort)
    for (let i = 0; i < 20; i++) await client.create(`/old-${i}`)
    client.close()
    expect((await restore(taken, first.adminAddress)).status).toBe(200)
    const more = await TestSession.open(first.clientPort)
    await more.create('/after')
    more.close()
    const zxid = first.peer.lastZxid
    await first.stop()
    const second = await startAnother({ config })
    const { tree } = second.peer.db
    expect([...tree.children(tree.find('/'))].map((id) => tree.pathOf(id)).toSorted()).toEqual([
      '/after',
      '/restored',
      '/zookeeper',
    ])
    expect(second.peer.lastZxid).toBeGreaterThanOrEqual(zxid)
    expect(second.peer.stats.digestMismatches).toBe(0)
  })
})

describe('administration', () => {
  const superUser = { 'DigestAuthenticationProvider.superDigest': digestOf('super:secret') }
  const asSuper = { Authorization: 'digest super:secret' }
  /** Sends headers that `fetch` does not allow. */
  const raw = (url: string, method: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', reject)
      sent.end()
    })

  test('is for the super user and configured identities, whatever the root ACL says', async () => {
    const guarded = await startAnother({ config: { ...withAdmin, ...superUser } })
    const url = `${guarded.adminAddress}/commands/snapshot?streaming=false`
    const statusFor = async (authorization: string): Promise<number> =>
      (await fetch(url, { headers: { Authorization: authorization } })).status
    expect(await statusFor('digest anybody:password')).toBe(403)
    expect(await statusFor('digest user:password')).toBe(200)
    expect(await statusFor('digest super:secret')).toBe(200)
    expect(await statusFor('digest super:wrong')).toBe(403)
    expect(await statusFor('ip')).toBe(403)
    expect(guarded.peer.stats.failedGuesses).toBe(3)
  })

  test('is needed for whatever changes the server, even on this machine', async () => {
    for (const name of ['srst', 'crst', 'orst', 'stmk?traceMask=1', 'snapshot']) {
      expect((await get(`/commands/${name}`)).status).toBe(401)
      expect((await get(`/commands/${name}`, { method: 'POST' })).status).toBe(401)
    }
    expect(server.traceMask).toBe(306n)
    const post = { method: 'POST', headers: authorized }
    expect((await get('/commands/stmk?traceMask=1', post)).status).toBe(200)
    expect(server.traceMask).toBe(1n)
  })

  test('is needed to see clients, paths and settings if others can reach the port', async () => {
    const open = await startAnother({
      config: { ...withAdmin, ...superUser, 'admin.serverAddress': '0.0.0.0' },
    })
    const url = `http://127.0.0.1:${new URL(open.adminAddress!).port}`
    for (const name of ['cons', 'dump', 'wchc', 'wchp', 'stat', 'icfg', 'sysp', 'envi', 'conf']) {
      expect((await get(`/commands/${name}`)).status).toBe(200)
      expect((await fetch(`${url}/commands/${name}`)).status).toBe(401)
      expect((await fetch(`${url}/commands/${name}`, { headers: asSuper })).status).toBe(200)
    }
    for (const path of ['/commands/ruok', '/commands/mntr', '/commands/srvr', '/metrics']) {
      expect((await fetch(`${url}${path}`)).status).toBe(200)
    }
  })

  test('slows down after many wrong passwords', async () => {
    const guess = async (i: number): Promise<number> =>
      (await get('/commands/srst', { headers: { Authorization: `digest admin:${i}` } })).status
    const statuses = await Promise.all(Array.from({ length: 60 }, (_, i) => guess(i)))
    expect(statuses.filter((status) => status === 403).length).toBeLessThan(30)
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20)
  }, 20_000)

  test.each([
    ['a name that leads to our address', { Host: 'rebound.example' }, 403],
    ['a page of another origin', { Origin: 'http://evil.example' }, 403],
    ['a page without an origin', { Origin: 'null' }, 403],
    ['a link or image on another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['what is typed into a browser', { 'Sec-Fetch-Site': 'none' }, 200],
    ['a tool on this machine', { Host: 'localhost:8080' }, 200],
    ['a tool that uses an address', { Host: '[::1]:8080' }, 200],
  ])('%s is let through or not', async (_, headers, status) => {
    for (const path of ['/commands/dump', '/commands/srst', '/metrics', '/readyz']) {
      expect(await raw(`${server.adminAddress}${path}`, 'GET', { ...authorized, ...headers })).toBe(
        status,
      )
    }
  })

  test('other names of this server can be allowed', async () => {
    const named = await startAnother({
      config: { ...withAdmin, 'admin.allowedHosts': 'zk1.example,zk2.example' },
    })
    const host = (name: string): Promise<number> =>
      raw(`${named.adminAddress}/commands/dump`, 'GET', { Host: name })
    expect([await host('ZK2.example:8080'), await host('zk3.example')]).toEqual([200, 403])
  })

  test('a request that an HTML form can send changes nothing', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const headers = { ...authorized, 'Content-Type': type }
      expect((await get('/commands/srst', { method: 'POST', headers })).status).toBe(415)
    }
    const taken = await get('/commands/restore', { method: 'POST', headers: authorized, body: 'x' })
    expect(taken.status).toBe(415)
  })

  test('a body that is no snapshot does not count against the limit of restores', async () => {
    const limited = await startAnother({
      config: { ...withAdmin, 'admin.rateLimiterIntervalInMS': 60_000 },
    })
    const headers = { ...authorized, ...snapshotType }
    const snapshot = await (await get('/commands/snapshot', { headers: authorized })).arrayBuffer()
    const restore = async (body: ArrayBuffer | string): Promise<number> =>
      (await fetch(`${limited.adminAddress}/commands/restore`, { method: 'POST', headers, body }))
        .status
    expect([await restore('nonsense'), await restore(snapshot)]).toEqual([400, 200])
  })
})

describe('probes', () => {
  test('a server that serves is alive and ready', async () => {
    for (const path of ['/livez', '/readyz']) {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('ok\n')
    }
  })

  test('a server that cannot write is alive but not ready', async () => {
    server.peer.suspendWrites()
    expect((await get('/livez')).status).toBe(200)
    const response = await get('/readyz')
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('no room on the disk')
    server.peer.resumeWrites()
    expect((await get('/readyz')).status).toBe(200)
  })
})

describe('metrics', () => {
  test('are exposed for Prometheus', async () => {
    await session.create('/a')
    const response = await get('/metrics')
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    expect(text).toContain('\n# TYPE znode_count gauge\nznode_count 6\n')
    expect(text).toContain('\n# TYPE commit_count counter\ncommit_count 2\n')
    expect(text).toMatch(/\nupdatelatency{quantile="0.99"} \d+\n/)
    expect(text).toMatch(/\nupdatelatency_count 1\n/)
    expect(text).toMatch(/\nprocess_resident_memory_bytes \d+\n/)
  })

  test('label quotas by their path', async () => {
    await session.create('/zookeeper/quota/app')
    await session.create('/app')
    await session.create('/zookeeper/quota/app/zookeeper_limits', 'count=5,bytes=100')
    await session.create('/zookeeper/quota/app/zookeeper_stats', 'count=0,bytes=0')
    const text = await textOf('/metrics')
    expect(text).toContain('quota_count_limit_per_namespace{key="app"} 5\n')
    expect(text).toContain('quota_count_usage_per_namespace{key="app"} 1\n')
  })

  test('have their own port if the Prometheus provider is configured', async () => {
    const lines: string[] = []
    const log = (line: string): void => void lines.push(line)
    const exporting = await startAnother({
      config: {
        'metricsProvider.className':
          'org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider',
        'metricsProvider.httpHost': '127.0.0.1',
        'metricsProvider.httpPort': 0,
      },
      logger: { info: log, warn: log, error: log },
    })
    expect(exporting.adminAddress).toBeUndefined()
    const response = await fetch(exporting.metricsAddress ?? '')
    expect(await response.text()).toContain('# TYPE znode_count gauge')
  })
})

test('an admin port in use is a warning, and the server starts without it', async () => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void holder.close())
  const { port } = holder.address() as AddressInfo
  const warnings: string[] = []
  const another = await startAnother({
    config: { ...withAdmin, 'admin.serverPort': port },
    logger: { info() {}, warn: (line) => void warnings.push(line), error() {} },
  })
  expect(another.adminAddress).toBeUndefined()
  expect(warnings.join()).toMatch(
    /http: cannot open port, running without it port=admin .*EADDRINUSE/,
  )
})
