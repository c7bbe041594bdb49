import { mkdtempSync, rmSync, statSync } from 'node:fs'
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
  ]
  test.each(cases)('%j', async (words, sentence) => {
    const { code, stdout, stderr } = await zabra(...words)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(sentence)
  })
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
