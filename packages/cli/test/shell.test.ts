import { connect, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { plainStyle } from '../src/output/style.ts'
import { shellHelp } from '../src/shell/help.ts'
import { flagMeanings } from '../src/shell/zk/flag-meanings.ts'
import { zkCommands } from '../src/shell/zk/index.ts'
import { lastWord, quoted, tokenize } from '../src/shell/tokenize.ts'
import { zkDate } from '../src/shell/zk/format.ts'
import { runZabra } from './support/program.ts'
import type { Said } from './support/zabra.ts'

let server: RunningServer
let client: Client

beforeAll(async () => {
  server = await startServer()
  client = await connect(server.connectString)
})

afterAll(async () => {
  await client.close()
  await server.stop()
})

function shell(words: readonly string[], stdin = ''): Promise<Said> {
  const env = { ZABRA_SERVERS: server.connectString, ZABRA_CONFIG_DIR: '/nonexistent', TZ: 'UTC' }
  return runZabra(['shell', ...words], { env, stdin })
}

/** The text behind the news of the connection. */
function results({ stdout }: Said): string {
  return stdout
    .replaceAll(/\nWATCHER::\n\nWatchedEvent .*\n/g, '')
    .replace(/^Connecting to .*\n(Welcome to ZooKeeper!\n)?/, '')
}

test('words are split at blanks, unless they are between quotes', () => {
  expect(tokenize(`create  /a "two words" 'it "is"' ""`)).toEqual([
    'create',
    '/a',
    'two words',
    'it "is"',
    '',
  ])
  expect(tokenize('a"b c"d')).toEqual(['ab cd'])
  for (const word of ['plain', 'two words', `it's`, 'say "it"', ''])
    expect(tokenize(quoted(word))).toEqual([word])
  expect(lastWord('get "/with sp')).toEqual({ start: 4, word: '/with sp' })
  expect(lastWord('get ')).toEqual({ start: 4, word: '' })
})

test('dates are written as Java writes them', () => {
  vi.stubEnv('TZ', 'UTC')
  expect(zkDate(0n)).toBe('Thu Jan 01 00:00:00 UTC 1970')
  expect(zkDate(1_770_000_005_000n)).toBe('Mon Feb 02 02:40:05 UTC 2026')
  vi.unstubAllEnvs()
})

test('reads commands from a pipe, and exits as the last one did', async () => {
  const said = await shell([], 'create /p x\n\nget /p\ntree /p --sizes\nget /nowhere\n')
  expect(results(said)).toBe('x\n/p  1 B\n')
  expect(said.stderr).toBe('Created /p\n1 node\nNode does not exist: /nowhere\n')
  expect(said.code).toBe(1)
  expect((await shell([], 'get /nowhere\nls /\nquit\nget /never\n')).code).toBe(0)
})

test('does one command as zkCli.sh does, and exits with its code', async () => {
  const said = await shell([
    '-server',
    server.connectString,
    '-timeout',
    '10000',
    'create',
    '/one',
    'two words',
  ])
  expect([said.code, said.stderr]).toEqual([0, 'Created /one\n'])
  expect(results(await shell(['get', '/one']))).toBe('two words\n')
  expect((await shell(['get', '/nowhere'])).code).toBe(1)
  expect((await shell(['bogus'])).code).toBe(127)
  expect((await shell(['-server'])).code).toBe(2)
})

test("a chroot, an identity and zabra's own options work", async () => {
  await client.create('/root')
  const said = await shell(
    ['--servers', `zk://ann:secret@${server.connectString}/root`],
    'create /x y auth::cdrwa\ngetAcl /x\n',
  )
  expect(results(said)).toMatch(/^'digest,'ann:\S+\n: cdrwa\n$/)
  expect(await client.children('/root')).toEqual(['x'])
})

test('commands of zabra run on the session of the shell', async () => {
  const said = await shell([], 'create -e /mine x\nfind / --kind ephemeral\nget /mine --json\n')
  const [path, json = ''] = results(said).trim().split('\n')
  expect(path).toBe('/mine')
  expect(JSON.parse(json)).toMatchObject({ path: '/mine', data: 'x' })
})

test('Ctrl-C ends a shell with a pipe that waits', async () => {
  const controller = new AbortController()
  const env = { ZABRA_SERVERS: server.connectString, ZABRA_CONFIG_DIR: '/nonexistent' }
  const running = runZabra(['shell'], {
    env,
    stdin: 'create --ephemeral /waits\n',
    signal: controller.signal,
  })
  await expect.poll(() => client.exists('/waits'), { timeout: 15_000 }).toBeDefined()
  controller.abort()
  await running
  expect(await client.exists('/waits')).toBeUndefined()
})

test('help explains every flag of a command of zkCli.sh', () => {
  for (const [name, { flags = {} }] of Object.entries(zkCommands)) {
    const shown = shellHelp(name, plainStyle)
    for (const flag of Object.keys(flags))
      expect([name, shown]).toEqual([
        name,
        expect.stringMatching(new RegExp(`^  -${flag} +\\S`, 'm')),
      ])
  }
  const known = Object.entries(flagMeanings).flatMap(([name, meanings]) =>
    Object.keys(meanings).filter((flag) => zkCommands[name]?.flags?.[flag] === undefined),
  )
  expect(known).toEqual([])
})
