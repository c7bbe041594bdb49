import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Overrides } from '../src/config/config.ts'
import { lockDirectory, lockName } from '../src/disk/lock.ts'
import { startServer } from '../src/embedded.ts'
import { inTemporaryFolder } from './support/server-process.ts'

/** The error message of a server that does not start. */
async function refusal(config: Overrides): Promise<string> {
  const failed = startServer({ config }).then(
    (server) => server.stop(),
    (error: Error) => error.message,
  )
  return (await failed) ?? 'it started'
}

test('a directory that is missing or none is named by its key', async () => {
  await inTemporaryFolder(async (dir) => {
    const dataDir = join(dir, 'data')
    expect(await refusal({ dataDir, 'datadir.autocreate': false })).toBe(
      `dataDir: there is no directory ${dataDir}, and datadir.autocreate is false. Create it, or mount the disk that holds it.`,
    )
    const file = join(dir, 'file')
    writeFileSync(file, '')
    expect(await refusal({ dataDir: file })).toBe(
      `dataDir: ${file} is a file; it must be a directory`,
    )
    const below = join(file, 'below')
    expect(await refusal({ dataDir, dataLogDir: below })).toMatch(
      `dataLogDir: ${below} cannot be used: ENOTDIR`,
    )
  })
})

test('an address or a port that cannot be had is named by its key', async () => {
  expect(await refusal({ clientPortAddress: 'nobody.invalid' })).toMatch(
    /^clientPortAddress: nobody.invalid cannot be listened on: .*Name an address/,
  )
  expect(await refusal({ clientPortAddress: '192.0.2.1' })).toMatch(
    /^clientPortAddress: 192.0.2.1 cannot be listened on: .*Name an address/,
  )
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void holder.close())
  const { port } = holder.address() as AddressInfo
  await expect(startServer({ config: { clientPort: port } })).rejects.toMatchObject({
    message: expect.stringMatching(`^clientPort: ${port} cannot be listened on: `) as string,
    code: 'EADDRINUSE',
  })
})

test('where one directory is in use the other is not held either', async () => {
  await inTemporaryFolder(async (dir) => {
    const [dataDir, dataLogDir] = [join(dir, 'data'), join(dir, 'log')]
    mkdirSync(dataLogDir)
    const other = lockDirectory(dataLogDir)
    expect(await refusal({ dataDir, dataLogDir })).toContain(`${dataLogDir} is in use`)
    expect(existsSync(join(dataDir, lockName))).toBe(false)
    other.release()
    expect(await refusal({ dataDir, dataLogDir })).toBe('it started')
  })
})

test('a misspelt setting of an embedded server is an error, and doubts are logged', async () => {
  const misspelt = { clientport: 1 } as Overrides
  expect(await refusal(misspelt)).toBe(
    'command line: clientport: unknown key; did you mean clientPort?',
  )
  const warnings: string[] = []
  const server = await startServer({
    config: { forceSync: 'no' },
    logger: { info() {}, warn: (line) => void warnings.push(line), error() {} },
  })
  await server.stop()
  expect(warnings).toEqual([
    'config: questionable setting problem="command line: forceSync: is no: a power cut can lose acknowledged writes"',
  ])
})

test('a stopped server still knows its addresses', async () => {
  const server = await startServer()
  const { connectString } = server
  await server.stop()
  expect(server.connectString).toBe(connectString)
})

test('a server without a client port does not say that it has one', async () => {
  await inTemporaryFolder(async (dir) => {
    const file = join(dir, 'zoo.cfg')
    writeFileSync(file, `dataDir=${dir}\nclientPort=0\nadmin.enableServer=false\n`)
    const support = join(dirname(fileURLToPath(import.meta.url)), 'support')
    const options = ['--conditions=@zabra/source', '--import', 'tsx', join(support, 'serve.ts')]
    const server = spawn(process.execPath, [...options, file], {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      cwd: support,
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const [said] = (await once(server.stdout!, 'data')) as [Buffer]
    expect(said.toString()).toMatch(/^zabra runs, but no client port is open \(ready in /)
    expect(said.toString()).not.toContain('connect')
    const exit = once(server, 'exit')
    server.kill('SIGTERM')
    await exit
  })
})
