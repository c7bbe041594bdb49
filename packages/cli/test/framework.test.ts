import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../src/table/index.ts'
import type { AnyCommand, CommandTable } from '../src/framework/command.ts'
import { zabraFor, type Zabra } from './support/zabra.ts'

let server: RunningServer
let zabra: Zabra

beforeAll(async () => {
  server = await startServer()
  zabra = zabraFor(server.connectString)
  await using client = await connect(server.connectString)
  await client.create('/app', '{"a":1}')
  await client.create('/app/one', 'x')
})

afterAll(() => server.stop())

async function* everyCommand(
  table: CommandTable,
  prefix = '',
): AsyncGenerator<[string, AnyCommand], void, undefined> {
  for (const [name, entry] of Object.entries(table)) {
    const { command } = await entry.load()
    yield [prefix + name, command]
    if (command.kind === 'group') yield* everyCommand(command.commands, `${prefix}${name} `)
  }
}

test('every command has help, and examples that begin with its name', async () => {
  for await (const [name, command] of everyCommand(commands)) {
    const { code, stdout } = await zabra('help', ...name.split(' '))
    expect([name, code]).toEqual([name, 0])
    expect(stdout.length).toBeGreaterThan(20)
    if (command.kind !== 'command') continue
    expect([name, command.examples.length > 0]).toEqual([name, true])
    for (const [line] of command.examples) expect(line).toContain(`zabra ${name}`)
  }
})

describe('mistakes on the command line', () => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['gte'], /unknown command 'gte'\n.*did you mean `zabra get`/],
    [['get'], /PATH is missing\n.*zabra help get/],
    [['get', '/a', '/b'], /one argument too many: '\/b'/],
    [['get', '/a', '--nope'], /unknown option --nope\n.*zabra help get/],
    [['get', '/a', '--jsn'], /unknown option --jsn\n.*did you mean --json/],
    [['get', '/a', '--servers', 'host:99999'], /'host:99999' is not a server/],
    [['get', '/a', '--timeout', 'soon'], /--timeout is a duration such as 500ms/],
    [['get', 'app'], /a path starts with \/.*\n.*did you mean \/app/],
    [['get', '/a', '--color', 'pink'], /--color is auto, always or never/],
    [['--json', 'get'], /the command comes first/],
    [['context', 'foo'], /`zabra context` has no command 'foo'/],
    [['get', '/a', '--servers', 'http://x'], /is not a connection string/],
    [['get', '/a', '--auth', 'secret'], /an identity is SCHEME:CREDENTIALS, not 'se\.\.\.'/],
    [['get', '/a', '--tls-key', 'a.pem'], /a key needs its certificate/],
    [['help', 'gte'], /unknown command 'gte'\n.*did you mean `zabra help get`/],
    [['top-nodes', '--limit=-3'], /--limit is at least 1, not -3/],
    [['tree', '--children=-1'], /--children is at least 0, not -1/],
    [['watch', '/a', '--count=0'], /--count is at least 1, not 0/],
    [['sessions', '-n', '-1'], /-n needs a value\n.*`--limit=-x`/],
    [['get', '/a', '--timeout', '-1'], /--timeout needs a value\n.*`--timeout=-x`/],
    [['set', '/a', '-5'], /unknown option -5\n.*follows --, as in `-- -5`/],
    [['get', '/a', '--timeout', '0'], /--timeout is longer than 0/],
    [['get', '//a'], /'\/\/a' is not a path: an empty name/],
    [['bench', '--path', 'x'], /a path starts with \//],
  ]
  test.each(cases)('%j', async (words, sentence) => {
    const { code, stdout, stderr } = await zabra(...words)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(sentence)
  })
})

test('help fits the terminal, and does not cut words', async () => {
  for (const columns of [60, 80, 200]) {
    for (const words of [['help'], ['help', 'watch'], ['help', 'import']]) {
      const { stdout } = await zabra(...words, {
        isTerminal: true,
        columns,
        env: { NO_COLOR: '1' },
      })
      const lines = stdout.split('\n')
      const examples = lines.findIndex((line) => line.startsWith('Examples:'))
      const long = lines
        .slice(0, examples < 0 ? undefined : examples)
        .filter((line) => line.length > Math.min(columns, 120) && !line.startsWith('Usage:'))
      expect([columns, ...words, ...long]).toEqual([columns, ...words])
    }
  }
  const wide = await zabra('help', 'watch')
  const narrow = await zabra('help', 'watch', {
    isTerminal: true,
    columns: 60,
    env: { NO_COLOR: '1' },
  })
  const wordsOf = (text: string): string[] => text.trim().split(/\s+/)
  expect(wordsOf(narrow.stdout)).toEqual(wordsOf(wide.stdout))
})

test('help says what the value of an option is', async () => {
  expect((await zabra('help', 'sessions')).stdout).toMatch(
    /--sort requests\|latency\|age\|server\n.*\n +-n, --limit N /,
  )
  expect((await zabra('help', 'lock')).stdout).toContain('--wait TIME')
})

test('an argument that begins with - follows --', async () => {
  expect((await zabra('set', '/app/one', '--', '-5')).code).toBe(0)
  expect((await zabra('get', '/app/one')).stdout).toBe('-5\n')
  expect((await zabra('set', '/app/one', 'x')).code).toBe(0)
})

test('a refusal has its exit code, its words and its JSON', async () => {
  const plain = await zabra('get', '/nothing')
  expect(plain.code).toBe(4)
  expect(plain.stderr).toBe('zabra: /nothing does not exist\n  `zabra ls /` lists its siblings\n')
  const json = await zabra('get', '/nothing', '--json')
  expect(json.code).toBe(4)
  expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'noNode', path: '/nothing' } })
})

test('no server is exit code 3, and says where it looked', async () => {
  const { code, stderr } = await zabra('ls', '--servers', '127.0.0.1:1', '--timeout', '200ms')
  expect(code).toBe(3)
  expect(stderr).toMatch(/no connection to 127\.0\.0\.1:1 .*ECONNREFUSED/)
  expect(stderr).toContain('zabra dev')
})

test('silent servers do not use up the time in which another one answers', async () => {
  const silent = await Promise.all([silentServer(), silentServer(), silentServer()])
  try {
    const servers = [...silent.map(({ port }) => `127.0.0.1:${port}`), server.connectString].join(
      ',',
    )
    const { code, stdout } = await zabra('get', '/app/one', '--servers', servers)
    expect([code, stdout]).toEqual([0, 'x\n'])
  } finally {
    for (const one of silent) one.stop()
  }
})

test('commands that ask all servers say what to try if none answers', async () => {
  const nowhere = ['--servers', '127.0.0.1:1', '--timeout', '200ms']
  const status = await zabra('status', ...nowhere)
  expect([status.code, status.stderr]).toEqual([
    1,
    expect.stringContaining('`zabra dev` starts one'),
  ])
  const health = await zabra('health', ...nowhere)
  expect([health.code, health.stdout]).toEqual([
    1,
    expect.stringMatching(/^problem {2}servers: none/),
  ])
  expect(health.stdout).toContain('`zabra dev` starts one')
  expect(health.stdout).not.toContain('leads')
  const sessions = await zabra('sessions', ...nowhere)
  expect(sessions.code).toBe(3)
  expect(sessions.stderr.match(/connection refused/g)).toHaveLength(1)
  expect((await zabra('4lw', 'ruok', ...nowhere)).stderr).toContain('--servers HOST:PORT')
  const check = await zabra('tls', 'check', server.connectString)
  expect([check.code, check.stderr]).toEqual([3, expect.stringContaining('speak no TLS')])
  expect((await zabra('tls', 'check', '127.0.0.1:1')).stderr).toContain('connection refused')
  expect((await zabra('4lw', 'abcd')).stderr).toContain('does not know this word')
})

/** Takes connections, and says nothing. */
async function silentServer(): Promise<{ readonly port: number; stop(): void }> {
  const sockets: Socket[] = []
  const listener = createServer((socket) => sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    stop: () => {
      listener.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

test('connection strings have a chroot and an identity', async () => {
  const { stdout } = await zabra('ls', '/', '--servers', `zk://ann:pw@${server.connectString}/app`)
  expect(stdout).toBe('one\n')
})

test('contexts are kept for their owner only, chosen, shown without passwords, and forgotten', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-cli-'))
  try {
    const own = zabraFor('', { ZABRA_CONFIG_DIR: join(folder, 'config') })
    const servers = `${server.connectString}/app`
    const added = await own(
      'context',
      'add',
      'app',
      '--servers',
      servers,
      '--auth',
      'digest:ann:pw',
    )
    expect(added.code).toBe(0)
    expect((await own('ls', '/')).stdout).toBe('one\n')
    expect((await own('context', 'add', 'all', '--servers', server.connectString)).code).toBe(0)
    expect((await own('ls', '/', '--context', 'all')).stdout).toContain('app\n')
    expect((await own('context', 'use', 'all')).code).toBe(0)
    expect((await own('ls', '/')).stdout).toContain('app\n')
    const shown = await own('context', 'show', 'app')
    expect(shown.stdout).toContain('digest:ann:...')
    expect(shown.stdout).not.toContain('pw')
    expect((await own('context', 'ls', '--json')).stdout).toContain('"isCurrent":true')
    expect(statSync(join(folder, 'config', 'contexts.json')).mode & 0o777).toBe(0o600)
    expect((await own('context', 'rm', 'all')).code).toBe(0)
    expect((await own('ls', '/', '--context', 'all')).code).toBe(4)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('completion', () => {
  const cases: readonly (readonly [string[], string])[] = [
    [['ge'], ':words\nget\t'],
    [['get', '/ap'], ':path\n/app\t'],
    [['get', '/app/'], ':path\n/app/one\t'],
    [['get', '/app', '--ra'], ':words\n--raw\t'],
    [['get', '--color', 'n'], ':words\nnever\t'],
    [['completion', 'z'], ':words\nzsh\t'],
    [['context', 'u'], ':words\nuse\t'],
    [['help', 'ge'], ':words\nget\t'],
    [['server', ''], ':file\n'],
  ]
  test.each(cases)('%j', async (words, wanted) => {
    const { complete } = await import('../src/completion/complete.ts')
    const env = { ZABRA_SERVERS: server.connectString, ZABRA_CONFIG_DIR: '/nonexistent' }
    const { mode, candidates } = await complete(commands, words, { env })
    const text = `:${mode}\n${candidates.map(({ word }) => `${word}\t`).join('\n')}`
    expect(text).toBe(wanted)
  })
})
