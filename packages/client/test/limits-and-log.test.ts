/** A client does not wait forever in silence: default deadlines, and a log for operators. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { Client, connect, type Logger } from '../src/index.ts'
import { nodeHost, type Host } from '../src/internal.ts'
import { nextState, useServer } from './support/fixture.ts'

const fixture = useServer()

/** A host whose timers of these lengths can be fired at once. */
function hurriedHost(): { readonly host: Host; readonly lengths: number[] } {
  const node = nodeHost()
  const lengths: number[] = []
  const timer: Host['timer'] = (ms, callback) => {
    lengths.push(ms)
    return node.timer(ms / 1000, callback)
  }
  return { host: { ...node, timer }, lengths }
}

async function closedPort(): Promise<string> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  await new Promise((resolve) => listener.close(resolve))
  return `127.0.0.1:${port}`
}

function memoryLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    info: (line) => void lines.push(`info ${line}`),
    warn: (line) => void lines.push(`warn ${line}`),
  }
}

test('connect gives up after 15 s by default, and says why for each server', async () => {
  const { host, lengths } = hurriedHost()
  const servers = [await closedPort(), await closedPort()]
  const error = await connect(servers, { host }).catch((reason: unknown) => reason as Error)
  expect(error).toMatchObject({ code: 'timeout', timeoutMs: 15_000 })
  expect(lengths).toContain(15_000)
})

test('a call gives up after 30 s by default, also without any server', async () => {
  const { host, lengths } = hurriedHost()
  const client = new Client({ servers: await closedPort(), host })
  onTestFinished(() => client.close())
  const late = client.get('/x')
  await expect(late).rejects.toMatchObject({ code: 'timeout', timeoutMs: 30_000, path: '/x' })
  await expect(late).rejects.toThrow(/^no connection \(.*ECONNREFUSED.*\) within 30000 ms: \/x$/)
  expect(lengths).toContain(30_000 / 16)
})

test('each unreachable server is named with the reason', async () => {
  const servers = [await closedPort(), await closedPort()]
  const error = await connect(servers, { timeoutMs: 500 }).catch((reason: unknown) => reason)
  for (const server of servers)
    expect((error as Error).message).toContain(`${server} (connect ECONNREFUSED ${server})`)
})

test('calls that were given up without a connection leave nothing behind', async () => {
  const client = new Client({ servers: await closedPort() })
  onTestFinished(() => client.close())
  const given = new AbortController()
  const all = Array.from({ length: 100 }, () => client.get('/', { signal: given.signal }))
  expect(client.stats().waiting).toBe(100)
  given.abort(new Error('enough'))
  expect(new Set(await Promise.all(all.map((call) => call.catch(String))))).toEqual(
    new Set(['Error: enough']),
  )
  expect(client.stats().waiting).toBe(0)
})

test('a call with an unlimited deadline outlasts the default of the client', async () => {
  const { client, proxy } = await fixture.openProxied({
    callTimeoutMs: 100,
    sessionTimeoutMs: 8000,
  })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const unlimited = client.exists('/', { timeoutMs: Infinity })
  const patient = client.patient.exists('/')
  await expect(client.exists('/')).rejects.toMatchObject({ code: 'timeout', timeoutMs: 100 })
  proxy.heal()
  expect(await unlimited).toBeDefined()
  expect(await patient).toBeDefined()
})

test('a late reply is not taken for that of the next call', async () => {
  const { client, proxy } = await fixture.openProxied({
    callTimeoutMs: 200,
    sessionTimeoutMs: 8000,
  })
  proxy.mute()
  await expect(client.create('/late-reply')).rejects.toMatchObject({ mayHaveHappened: true })
  proxy.drop()
  proxy.heal()
  expect(await client.exists('/late-reply', { timeoutMs: 5000 })).toBeDefined()
})

test('a program ends although its last call had a default deadline', async () => {
  const program = `
    const { connect } = await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)})
    const client = await connect('${fixture.connectString}')
    await client.exists('/')
    await client.close()
  `
  const tsx = fileURLToPath(import.meta.resolve('tsx'))
  const args = ['--conditions=@zabra/source', '--import', tsx, '--input-type=module', '-e', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('a logger gets the reason for each unreachable server, once for many rounds', async () => {
  const logger = memoryLogger()
  const servers = [await closedPort(), await closedPort()]
  await connect(servers, { logger, timeoutMs: 1500 }).catch(() => {})
  for (const server of servers)
    expect(logger.lines).toContain(
      `warn zabra client: cannot connect to server server=${server} rounds=1 reason="connect ECONNREFUSED ${server}"`,
    )
  expect(logger.lines.length).toBeLessThan(12)
})

test('a logger gets suspended, resumed, moved and expired sessions', async () => {
  const logger = memoryLogger()
  const { client, proxy } = await fixture.openProxied({ logger, sessionTimeoutMs: 400 })
  const resumed = nextState(client, 'connected')
  proxy.drop()
  await resumed
  const moved = nextState(client, 'connected')
  client.setServers(fixture.connectString)
  await moved
  client.setServers(proxy.connectString)
  await nextState(client, 'connected')
  const expired = nextState(client, 'expired')
  proxy.cut()
  await expired
  const told = logger.lines.map((line) => line.replace(/ session=0x[0-9a-f]+.*/, ''))
  expect(told).toEqual(
    expect.arrayContaining([
      'info zabra client: session established',
      'warn zabra client: session suspended: connection lost',
      'warn zabra client: session resumed',
      'warn zabra client: session moved',
      'warn zabra client: session expired: ephemeral nodes and watches are gone',
    ]),
  )
})

test('a logger gets slow requests, a blocked loop and a clock that jumps', async () => {
  const logger = memoryLogger()
  let wallMs = 1_000_000
  const host: Host = { ...nodeHost(), wallMs: () => (wallMs += 5_000) }
  const client = await fixture.open({ logger, slowRequestMs: 0, sessionTimeoutMs: 4000, host })
  await client.exists('/slow')
  const until = performance.now() + 1600
  while (performance.now() < until) Math.sqrt(until)
  await expect.poll(() => logger.lines.join('\n'), { timeout: 5000 }).toContain('clock jumped')
  const told = logger.lines.join('\n')
  expect(told).toMatch(/warn zabra client: slow request operation=exists path=\/slow durationMs=\d/)
  expect(told).toMatch(/warn zabra client: event loop blocked: heartbeats wait blockedMs=\d{3,}/)
})

test('a logger that throws does not stop the session', async () => {
  const uncaught: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
  try {
    const warn = (): void => {
      throw new Error('a bug of the logger')
    }
    const client = await fixture.open({ logger: { warn, info: warn } })
    await client.sync()
    await client.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(uncaught).toContainEqual(expect.objectContaining({ message: 'a bug of the logger' }))
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  }
})
