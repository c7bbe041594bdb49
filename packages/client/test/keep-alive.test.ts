import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { useServer } from './support/fixture.ts'
import { Proxy } from './support/proxy.ts'

const fixture = useServer()
/** A worker thread cannot run the sources as they are. */
const built = mkdtempSync(join(tmpdir(), 'zabra-busy-'))
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

beforeAll(async () => {
  writeFileSync(join(built, 'package.json'), '{ "type": "module" }')
  await build({
    entryPoints: [path('support/busy-program.ts'), path('../src/node-host/keep-alive-worker.ts')],
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

/** What it says at the end; `whileBusy` runs when it has its node. */
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

test('the worker reconnects by itself, and the program hears of it when it has time', async () => {
  const proxy = await Proxy.start(fixture.port)
  onTestFinished(() => proxy.stop())
  const { isThere, states } = await runBusy('worker', proxy.connectString, () => proxy.drop())
  expect(isThere).toBe(true)
  expect(states).toEqual(['suspended', 'connected', 'closed'])
})
