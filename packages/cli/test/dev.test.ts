import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import { servedCertificates } from '@zabra/server'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runZabra, zabraCommand } from './support/program.ts'

let folder: string
let env: Record<string, string>

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-dev-test-'))
  env = { TMPDIR: folder, ZABRA_CONFIG_DIR: folder }
})

afterEach(async () => {
  // Only where a test has failed is anything left.
  for (const { child, ended } of running) {
    child.kill('SIGINT')
    await ended
  }
  running.clear()
})

afterAll(() => rmSync(folder, { recursive: true }))

interface Dev {
  readonly child: ChildProcess
  readonly started: Promise<Started>
  readonly ended: Promise<number | null>
  readonly stderr: () => string
}

test('with npx, the line for a shell has npx, too', async () => {
  const [program = '', ...args] = zabraCommand
  const child = spawn(program, [...args, 'dev'], {
    env: { ...process.env, ...env, npm_command: 'exec' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const dev = { child, ended }
  running.add(dev)
  let shown = ''
  for await (const text of createInterface({ input: child.stdout })) {
    shown += `${text}\n`
    if (text.startsWith('  shell')) child.kill('SIGINT')
  }
  await ended
  running.delete(dev)
  expect(shown).toMatch(/^ {2}shell {4}npx zabra shell /m)
})

interface Started {
  readonly servers: string
  readonly tls?: { readonly ca: string; readonly cert: string }
  readonly dataDir: string
  readonly members: readonly { readonly id: number; readonly role: string; readonly pid: number }[]
}

const running = new Set<Pick<Dev, 'child' | 'ended'>>()

function start(...words: readonly string[]): Dev {
  const [program = '', ...args] = [...zabraCommand, 'dev', '--json', ...words]
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const started = new Promise<Started>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) =>
      resolve(JSON.parse(line) as Started),
    )
    child.once('close', () => reject(new Error(stderr)))
  })
  started.catch(() => {})
  const one = { child, started, ended, stderr: () => stderr }
  running.add(one)
  return one
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a program gets servers while it runs, and dev exits with its exit code', async () => {
  const script = `process.stdout.write(process.env.ZABRA_SERVERS); process.exit(42)`
  const { code } = await runZabra(['dev', '--', process.execPath, '-e', script], { env })
  expect(code).toBe(42)
  expect(readdirSync(folder).filter((name) => name.startsWith('zabra-dev-'))).toEqual([])
})

test('an ensemble survives the loss of a server, and everything is gone after Ctrl-C', async () => {
  const { child, started, ended, stderr } = start('--servers', '3')
  const { servers, members, dataDir } = await started
  expect(members.map(({ role }) => role).toSorted()).toEqual(['follower', 'follower', 'leader'])
  const status = await runZabra(['status', '--json', '--servers', servers], { env })
  const seen = (JSON.parse(status.stdout) as { members: { id: string; mode: string }[] }).members
  expect(seen.map(({ id, mode }) => `${id} ${mode}`)).toEqual(
    members.map(({ id, role }) => `${id} ${role}`),
  )
  process.kill(members.find(({ role }) => role === 'leader')!.pid, 'SIGKILL')
  const client = await connect(servers)
  await client.create('/still', 'here')
  await client.close()
  await expect.poll(stderr).toMatch(/server \d ended with SIGKILL/)
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(members.filter(({ pid }) => isAlive(pid))).toEqual([])
  expect(existsSync(dataDir)).toBe(false)
})

test('kept data is found by the next run', async () => {
  const data = join(folder, 'kept')
  const first = start('--data-dir', data)
  const { servers } = await first.started
  const client = await connect(servers)
  await client.create('/kept', 'x')
  await client.close()
  first.child.kill('SIGINT')
  await first.ended
  const second = start('--data-dir', data)
  const again = await connect((await second.started).servers)
  expect(await again.exists('/kept')).toBeDefined()
  await again.close()
  second.child.kill('SIGTERM')
  expect(await second.ended).toBe(0)
  rmSync(data, { recursive: true })
})

test('with --tls, clients need the certificate of the connect string, and servers use TLS', async () => {
  const { child, started, ended } = start('--servers', '3', '--tls')
  const { servers, tls, dataDir, members } = await started
  const [address = ''] = servers.replace('zks://', '').split(',')
  const made = await runZabra(['create', '/secret', 'x', '--servers', servers], { env })
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const [host = '', port = ''] = address.split(':')
  const words = ['get', '/secret', '--timeout', '1s', '--servers']
  const refused = await Promise.all([
    runZabra([...words, address], { env }),
    runZabra([...words, `zks://${address}?ca=${tls!.ca}`], { env }),
  ])
  expect(refused.map(({ code }) => code)).toEqual([3, 3])
  expect((await servedCertificates(host, Number(port), 5000)).chain[0]?.subject).toContain(
    'server-1',
  )
  const config = readFileSync(join(dataDir, 'server-1', 'zoo.cfg'), 'utf8')
  const electionPorts = [...config.matchAll(/^server\.\d=.*:(\d+)$/gm)].map(([, one]) =>
    Number(one),
  )
  const between = await Promise.all(
    electionPorts.map((election) => servedCertificates(host, election, 5000)),
  )
  expect(between.map(({ chain }) => chain[0]?.subject.match(/server-\d/)?.[0])).toEqual(
    members.map(({ id }) => `server-${id}`),
  )
  child.kill('SIGINT')
  expect(await ended).toBe(0)
})

test('with --tls, a program gets the connect string and the files', async () => {
  const script = `const { ZABRA_SERVERS, ZABRA_TLS_CA, ZABRA_TLS_CERT, ZABRA_TLS_KEY } = process.env
    const found = [ZABRA_TLS_CA, ZABRA_TLS_CERT, ZABRA_TLS_KEY].map(require('fs').existsSync)
    console.log(JSON.stringify([ZABRA_SERVERS.slice(0, 6), ...found]))`
  const { stdout } = await runZabra(['dev', '--tls', '--', process.execPath, '-e', script], { env })
  expect(JSON.parse(stdout)).toEqual(['zks://', true, true, true])
})

test('no server outlives dev, even if dev is killed', async () => {
  const { child, started, ended } = start()
  const { members, dataDir } = await started
  child.kill('SIGKILL')
  await ended
  await expect.poll(() => isAlive(members[0]!.pid), { timeout: 10_000 }).toBe(false)
  rmSync(dataDir, { recursive: true })
})

test('a taken port is an error that names it', async () => {
  const { child, started, ended } = start()
  const { servers } = await started
  const [, port = ''] = servers.split(':')
  const { code, stderr } = await runZabra(['dev', '--port', port], { env })
  expect([code, stderr]).toEqual([7, expect.stringContaining(`from ${port} to ${port} is taken`)])
  child.kill('SIGINT')
  await ended
})
