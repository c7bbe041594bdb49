import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { acl, connect, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runZabra, zabraCommand } from './support/program.ts'
import { zabraFor } from './support/zabra.ts'

let server: RunningServer
let client: Client
let folder: string

beforeAll(async () => {
  server = await startServer()
  client = await connect(server.connectString)
  folder = mkdtempSync(join(tmpdir(), 'zabra-streams-'))
})

afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

const env = (): Record<string, string> => ({ ZABRA_SERVERS: server.connectString })

function started(words: readonly string[]) {
  const [program = '', ...args] = zabraCommand
  return spawn(program, [...args, ...words], {
    env: { ...process.env, ...env() },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

test('a slow reader of a pipe gets all of a long output', async () => {
  const data = Buffer.alloc(900_000, 'a line of sixteen')
  await client.create('/large', data)
  const child = started(['get', '--raw', '/large'])
  const parts: Buffer[] = []
  for await (const part of child.stdout) {
    parts.push(part as Buffer)
    // Other work of the reader, in which the writer could end.
    for (let i = 0; i < 100; i++) await turn()
  }
  expect(Buffer.concat(parts).equals(data)).toBe(true)
})

test('a reader that goes away ends the command with exit code 141', async () => {
  await client.create('/wide')
  for (let i = 0; i < 20; i++) await client.create(`/wide/${i}`, Buffer.alloc(100_000, 'x'))
  const child = started(['export', '/wide'])
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.stdout.once('data', () => child.stdout.destroy())
  expect(await ended).toBe(141)
})

test('an export to a file that is refused says so, and leaves no file', async () => {
  await client.create('/mixed', 'x'.repeat(200_000))
  await client.create('/mixed/closed', 'secret', { acl: acl.digest('ann', 'secret', 'cdrwa') })
  const file = join(folder, 'mixed.yaml')
  const refused = await runZabra(['export', '/mixed', '-o', file], { env: env() })
  expect([refused.code, refused.stderr]).toEqual([
    5,
    expect.stringMatching(/^zabra: not allowed to read \/mixed\/closed\n.*--auth/),
  ])
  expect(readdirSync(folder)).toEqual([])
  const nowhere = await runZabra(['export', '/mixed', '-o', join(folder, 'no', 'x.yaml')], {
    env: env(),
  })
  expect(nowhere.code).toBe(4)
  expect(existsSync(join(folder, 'no'))).toBe(false)
})

test('a dry run of deleteall names the first children only', async () => {
  await client.create('/many')
  for (let i = 100; i < 130; i++) await client.create(`/many/${i}`)
  const { stdout } = await zabraFor(server.connectString)('deleteall', '--dry-run', '/many')
  expect(stdout.split('\n')).toHaveLength(1 + 20 + 1 + 1)
  expect(stdout).toMatch(/\/many\/119 {2}1 node\n {2}and 10 more children\n$/)
})
