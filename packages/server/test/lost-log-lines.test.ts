import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ask } from './support/ask.ts'
import { freePorts } from './support/free-ports.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const support = join(dirname(fileURLToPath(import.meta.url)), 'support')
const full = '/dev/full'

const serving = async (port: number): Promise<boolean> =>
  (await ask(port, 'ruok').catch(() => '')) === 'imok'

/** Resolves when the server is ready; rejects if it exits first. */
async function serve(dataDir: string, port: number, stdio: StdioOptions): Promise<ChildProcess> {
  const options = ['--conditions=@zabra/source', '--import', 'tsx', join(support, 'serve.ts')]
  const settings = ['--data-dir', dataDir, '--port', `${port}`, '--admin', 'false']
  const server = spawn(process.execPath, [...options, ...settings], { stdio, cwd: support })
  onTestFinished(() => void server.kill('SIGKILL'))
  while (!(await serving(port))) {
    if (server.exitCode !== null) throw new Error(`it ended with exit code ${server.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return server
}

/** Makes the server log something, and then serve as usual. */
async function useAndStop(server: ChildProcess, port: number): Promise<void> {
  await ask(port, new Uint8Array(64).fill(0x7f))
  expect(await serving(port)).toBe(true)
  const exit = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
}

const onFullDisk = existsSync(full) ? test : test.skip
const isSkipped = existsSync(full) ? '' : `: NOT RUN, there is no ${full}`

onFullDisk(`a server outlives a full disk under its log${isSkipped}`, async () => {
  const [port] = await freePorts(1)
  const file = openSync(full, 'w')
  try {
    await inTemporaryFolder(async (dir) => {
      const server = await serve(dir, port!, ['ignore', file, file, 'ipc'])
      await useAndStop(server, port!)
    })
  } finally {
    closeSync(file)
  }
})

test('a server outlives the reader of its log', async () => {
  const [port] = await freePorts(1)
  await inTemporaryFolder(async (dir) => {
    const server = await serve(dir, port!, ['ignore', 'pipe', 'pipe', 'ipc'])
    server.stdout?.destroy()
    server.stderr?.destroy()
    await useAndStop(server, port!)
  })
})
