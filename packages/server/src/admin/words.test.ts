import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'
import { ask, ephemeral, operation, TestSession } from '../../test/support/ask.ts'

let server: RunningServer
let sessions: TestSession[]

beforeEach(async () => {
  sessions = []
  server = await startServer({
    config: {
      '4lw.commands.whitelist': '*',
      tickTime: 2000,
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
    },
  })
})

afterEach(async () => {
  for (const session of sessions) session.close()
  await server.stop()
})

async function open(timeoutMs?: number): Promise<TestSession> {
  const session = await TestSession.open(server.clientPort, timeoutMs)
  sessions.push(session)
  return session
}

const word = (text: string | Uint8Array): Promise<string> => ask(server.clientPort, text)

/** Removes what differs from run to run. */
const masked = (text: string): string =>
  text
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/\w{3} \w{3} \d\d \d\d:\d\d:\d\d UTC \d{4}/g, 'DATE')
    .replace(/(sid=|sessionId: )0x1[0-9a-f]{14}/g, '$1SESSION')
    .replace(/(est|lresp|llat|minlat|avglat|maxlat)=\d+/g, '$1=N')
    .replace(/(zabra-)[^,]+/, '$1VERSION')

describe('short answers', () => {
  test.each([
    ['ruok', 'imok'],
    ['isro', 'rw'],
    ['gtmk', '306'],
    ['crst', 'Connection stats reset.\n'],
    ['srst', 'Server stats reset.\n'],
    ['wchs', '0 connections watching 0 paths\nTotal watches:0\n'],
    ['wchc', '\n'],
    ['wchp', '\n'],
    ['hash', ''],
  ])('%s says %j', async (asked, answer) => {
    expect(await word(asked)).toBe(answer)
  })

  test('text after the word is ignored', async () => {
    expect(await word('ruok\r\n')).toBe('imok')
  })

  test('unknown words are invalid frame lengths, and get no answer', async () => {
    expect(await word('abcd')).toBe('')
    expect(await word('RUOK')).toBe('')
  })

  test('stmk takes a mask of eight bytes and gtmk returns it', async () => {
    const mask = Buffer.alloc(8)
    mask.writeBigInt64BE(512n)
    expect(await word(Buffer.concat([Buffer.from('stmk'), mask]))).toBe('512')
    expect(await word('gtmk')).toBe('512')
  })
})

describe('srvr and stat', () => {
  test('srvr has the lines that tools look for', async () => {
    expect(masked(await word('srvr')))
      .toBe(`Zookeeper version: 3.9.5-zabra-VERSION, built on 2026-11-15 00:00 UTC
Latency min/avg/max: 0/0.0/0
Received: 1
Sent: 0
Connections: 1
Outstanding: 0
Zxid: 0x0
Mode: standalone
Node count: 5
`)
  })

  test('stat lists the clients, including the one that asks, before the numbers', async () => {
    const session = await open()
    expect(await session.create('/a')).toBe(0)
    const [version, clients, first, second, blank, latency] = masked(await word('stat')).split('\n')
    expect(version).toMatch(/^Zookeeper version: /)
    expect(clients).toBe('Clients:')
    expect(first).toBe(' /ADDRESS[1](queued=0,recved=2,sent=2)')
    expect(second).toBe(' /ADDRESS[0](queued=0,recved=1,sent=0)')
    expect(blank).toBe('')
    expect(latency).toMatch(/^Latency/)
  })
})

test('cons shows the last operation of each session, and crst resets it', async () => {
  const session = await open()
  await session.create('/a')
  expect(masked(await word('cons'))).toBe(
    ' /ADDRESS[1](queued=0,recved=2,sent=2,sid=SESSION,lop=CREA,est=N,to=30000,lcxid=0x1,lzxid=0x2,lresp=N,llat=N,minlat=N,avglat=N,maxlat=N)\n' +
      ' /ADDRESS[0](queued=0,recved=1,sent=0)\n\n',
  )
  await word('crst')
  expect(masked(await word('cons'))).toContain(
    'recved=0,sent=0,sid=SESSION,lop=NA,est=N,to=30000,lzxid=0xffffffffffffffff',
  )
})

test('dump shows sessions and connections by expiry, and ephemeral nodes by session', async () => {
  const session = await open()
  await session.create('/e', '', ephemeral)
  const id = `0x${session.sessionId.toString(16)}`
  expect(masked(await word('dump'))).toBe(`SessionTracker dump:
Session Sets (1)/(1):
1 expire at DATE:
	${id}
ephemeral nodes dump:
Sessions with Ephemerals (1):
${id}:
	/e
Connections dump:
Connections Sets (2)/(2):
1 expire at DATE:
	ip: /ADDRESS sessionId: 0x0
1 expire at DATE:
	ip: /ADDRESS sessionId: SESSION
`)
})

test('wchs, wchc and wchp show data watches only; mntr counts all', async () => {
  const session = await open()
  await session.create('/a')
  await session.watch('/a')
  await session.watch('/a', operation.getChildren)
  const id = `0x${session.sessionId.toString(16)}`
  expect(await word('wchs')).toBe('1 connections watching 1 paths\nTotal watches:1\n')
  expect(await word('wchc')).toBe(`${id}\n\t/a\n\n`)
  expect(await word('wchp')).toBe(`/a\n\t${id}\n\n`)
  expect(await word('mntr')).toContain('zk_watch_count\t2\n')
})

test('hash remembers the digest of every 128th transaction', async () => {
  const session = await open()
  await session.create('/a')
  for (let i = 0; i < 260; i++) await session.setData('/a', String(i))
  expect(await word('hash')).toMatch(/^80: \d+\n100: \d+\n$/)
})

test('conf lists the settings in order', async () => {
  const lines = (await word('conf')).split('\n')
  expect(lines.map((line) => line.split('=')[0])).toEqual(
    `clientPort secureClientPort dataDir dataDirSize dataLogDir dataLogSize tickTime maxClientCnxns
     minSessionTimeout maxSessionTimeout clientPortListenBacklog serverId adminAddress`
      .split(/\s+/)
      .concat(''),
  )
  expect(lines).toContain(`clientPort=${server.clientPort}`)
  expect(lines).toContain('minSessionTimeout=4000')
  expect(lines).toContain(`adminAddress=${server.adminAddress}`)
})

test('dirs and envi', async () => {
  expect(await word('dirs')).toMatch(/^datadir_size: \d+\nlogdir_size: \d+\n$/)
  expect(await word('envi')).toMatch(/^Environment:\nzookeeper.version=3\.9\.5-zabra-/)
})

describe('mntr', () => {
  test('version and state come first', async () => {
    const [version, state] = (await word('mntr')).split('\n')
    expect(version).toMatch(/^zk_version\t3\.9\.5-zabra-.*, built on /)
    expect(state).toBe('zk_server_state\tstandalone')
  })

  test('numbers match the requests that were sent', async () => {
    const session = await open()
    await session.create('/a', 'data')
    await session.create('/e', '', ephemeral)
    await session.watch('/a')
    const values = new Map(
      (await word('mntr')).split('\n').map((line) => line.split('\t') as [string, string]),
    )
    expect(values.get('zk_znode_count')).toBe('7')
    expect(values.get('zk_ephemerals_count')).toBe('1')
    expect(values.get('zk_watch_count')).toBe('1')
    expect(values.get('zk_num_alive_connections')).toBe('2')
    expect(values.get('zk_global_sessions')).toBe('1')
    expect(values.get('zk_approximate_data_size')).toBe(String(44 + '/adata/e'.length))
    expect(values.get('zk_commit_count')).toBe('3')
    expect(values.get('zk_op_count_create')).toBe('2')
    expect(values.get('zk_cnt_updatelatency')).toBe('2')
    expect(values.get('zk_cnt_readlatency')).toBe('1')
    expect(values.get('zk_p99_updatelatency')).toMatch(/^\d+$/)
    expect(values.get('zk_avg_latency')).toMatch(/^\d+\.\d+$/)
  })
})

describe('the whitelist', () => {
  const refusal = (name: string): string =>
    `${name} is not executed because it is not in the whitelist.\n`

  async function startStrict(): Promise<RunningServer> {
    const strict = await startServer({ config: { '4lw.commands.whitelist': 'ruok' } })
    onTestFinished(() => strict.stop())
    return strict
  }

  test('refuses words that are not on it, but never srvr', async () => {
    const strict = await startStrict()
    expect(await ask(strict.clientPort, 'ruok')).toBe('imok')
    expect(await ask(strict.clientPort, 'conf')).toBe(refusal('conf'))
    expect(await ask(strict.clientPort, 'stmk')).toBe(refusal('stmk'))
    expect(await ask(strict.clientPort, 'srvr')).toContain('Mode: standalone')
  })

  test('refuses the interrupt of a telnet by name', async () => {
    const strict = await startStrict()
    const interrupt = Uint8Array.of(0xff, 0xf4, 0xff, 0xfd)
    expect(await ask(strict.clientPort, interrupt)).toBe(refusal('telnet close'))
  })
})
