import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ConnectResponse, FrameCutter, Reader, ReplyHeader, Writer } from '@zabra/protocol'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { useServer } from './support/fixture.ts'
import { Proxy } from './support/proxy.ts'

const fixture = useServer()
/** A worker thread cannot run the TypeScript sources. */
const built = mkdtempSync(join(tmpdir(), 'zabra-busy-'))
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

beforeAll(async () => {
  writeFileSync(join(built, 'package.json'), '{ "type": "module" }')
  await build({
    entryPoints: [
      path('support/busy-program.ts'),
      path('support/worker-program.ts'),
      path('../src/node-host/keep-alive-worker.ts'),
    ],
    conditions: ['@zabra/source'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    entryNames: '[name]',
    outdir: built,
  })
})
afterAll(() => rmSync(built, { recursive: true, force: true }))

/** The output at the end; `whileBusy` runs when it has its node. */
async function runBusy(
  keepAlive: 'loop' | 'worker',
  servers: string,
  whileBusy: () => void = () => {},
): Promise<{ isThere: boolean; states: string[] }> {
  const args = [join(built, 'busy-program.js'), servers, keepAlive, '5000']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === 1) whileBusy()
  }
  return JSON.parse(lines.at(-1)!) as { isThere: boolean; states: string[] }
}

test('a program that is busy for longer than its timeout loses its session', async () => {
  expect((await runBusy('loop', fixture.connectString)).isThere).toBe(false)
})

test('with a worker it keeps its session', async () => {
  const { isThere, states } = await runBusy('worker', fixture.connectString)
  expect(isThere).toBe(true)
  expect(states).toEqual(['closed'])
})

test('the worker reconnects by itself, and the program is told when it has time', async () => {
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  const { isThere, states } = await runBusy('worker', proxy.connectString, () => proxy.drop())
  expect(isThere).toBe(true)
  expect(states).toEqual(['suspended', 'connected', 'closed'])
})

/** The last output of `worker-program.ts`, once it has ended by itself. */
async function runWorker(
  what: 'unref' | 'life' | 'replies' | 'servers',
  servers: string,
  ...more: string[]
): Promise<unknown> {
  const args = [join(built, 'worker-program.js'), servers, what, ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(line)
  return JSON.parse(lines.at(-1)!)
}

test('a worker with `unref` does not keep the process alive', async () => {
  expect(await runWorker('unref', fixture.connectString)).toBe('connected')
})

test('an ended session has no time left, also in a worker', async () => {
  expect(await runWorker('life', fixture.connectString)).toEqual({
    before: true,
    whenExpired: false,
    whenClosed: false,
  })
})

test('a worker uses new servers when its client sets them', async () => {
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  const { connectString: server } = proxy
  expect(await runWorker('servers', fixture.connectString, server)).toEqual({
    stayed: fixture.connectString,
    server,
    resumed: true,
    isThere: true,
  })
})

test('what a worker received on a connection is not reported on the next', async () => {
  const servers = await serveGarbage()
  const outcomes = (await runWorker('replies', servers)) as string[]
  // The first reply came, with garbage behind it; the worker may or may not report it first.
  expect(outcomes.slice(2)).toEqual(['done'])
  expect(outcomes).not.toContain('timeout')
})

/** A server that answers everything, but sends garbage after the first reply. */
async function serveGarbage(): Promise<string> {
  let connections = 0
  const server = createServer((socket) => {
    const isFirst = connections++ === 0
    let isGreeted = false
    const cutter = new FrameCutter(1024)
    socket.on('error', () => {})
    socket.on('data', (bytes) =>
      cutter.push(bytes, bytes.length, {
        frame: (frame, start) => {
          const writer = new Writer()
          writer.int(0)
          if (isGreeted)
            ReplyHeader.write(writer, { xid: new Reader(frame, start).int(), zxid: 1n, err: 0 })
          else
            ConnectResponse.write(writer, {
              protocolVersion: 0,
              timeOut: 4000,
              sessionId: 7n,
              passwd: new Uint8Array(16),
              readOnly: false,
            })
          writer.intAt(0, writer.position - 4)
          if (isGreeted && isFirst) writer.raw(new Uint8Array([0, 0, 0, 3, 1, 2, 3]))
          isGreeted = true
          socket.write(writer.written())
          return true
        },
      }),
    )
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
