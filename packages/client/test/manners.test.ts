import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { RequestTrace, StateTrace } from '../src/index.ts'
import { nextState, useServer } from './support/fixture.ts'

const fixture = useServer()

test('requests are published to subscribers, with their outcome', async () => {
  const client = await fixture.open()
  const traces: RequestTrace[] = []
  const listen = (message: unknown): unknown => traces.push(message as RequestTrace)
  subscribe('tracing:zabra:client:request:asyncEnd', listen)
  onTestFinished(() => void unsubscribe('tracing:zabra:client:request:asyncEnd', listen))
  await client.create('/traced')
  await client.get('/not-traced').catch(() => {})
  expect(traces).toMatchObject([
    { operation: 'create2', path: '/traced', repeats: 0, result: { path: '/traced' } },
    { operation: 'getData', path: '/not-traced', error: { reason: 'noNode' } },
  ])
  expect(traces[0]!.durationMs).toBeGreaterThan(0)
})

test('changes of state are published too', async () => {
  const { client, proxy } = await fixture.openProxied()
  const traces: StateTrace[] = []
  const listen = (message: unknown): unknown => traces.push(message as StateTrace)
  subscribe('zabra:client:state', listen)
  onTestFinished(() => void unsubscribe('zabra:client:state', listen))
  const resumed = nextState(client, 'connected')
  proxy.drop()
  await resumed
  expect(traces.map(({ state, before }) => `${before.name} ${state.name}`)).toEqual([
    'connected suspended',
    'suspended connected',
  ])
})

test('an error in a listener surfaces, and stops neither the others nor the client', async () => {
  const client = await fixture.open()
  const uncaught: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
  try {
    const events: string[] = []
    await client.exists('/rude', {
      watch: () => {
        throw new Error('a bug of the caller')
      },
    })
    await client.exists('/rude', { watch: ({ type }) => events.push(type) })
    await client.create('/rude')
    await client.sync()
    expect(events).toEqual(['created'])
    expect(uncaught).toMatchObject([{ message: 'a bug of the caller' }])
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  }
})

test('a client with `unref` does not keep the process alive', async () => {
  const module = fileURLToPath(new URL('../src/index.ts', import.meta.url))
  const program = `
    import { connect } from ${JSON.stringify(module)}
    const other = setTimeout(() => {}, 20_000)
    const client = await connect(process.argv[1], { unref: true })
    await client.exists('/')
    clearTimeout(other)
    client.watch('/').ready.then(() => console.log('watching'))
  `
  const args = [
    '--import',
    'tsx',
    '--conditions=@zabra/source',
    '--input-type=module',
    '-e',
    program,
  ]
  const child = spawn(process.execPath, [...args, fixture.connectString], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0)
})
