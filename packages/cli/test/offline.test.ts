import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import { loadConfig, RunningServer } from '@zabra/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { zabraFor } from './support/zabra.ts'

const zabra = zabraFor('127.0.0.1:1')
let folder: string
let dataDir: string
let files: string
let session: string

/** A data directory with two logs and two snapshots. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-'))
  dataDir = join(folder, 'data')
  for (const round of ['one', 'two']) {
    const { config } = loadConfig({
      env: {},
      overrides: {
        dataDir,
        clientPort: 0,
        'admin.enableServer': false,
        snapCount: 4,
        'autopurge.purgeInterval': 0,
      },
    })
    const logger = { info: () => {}, warn: () => {}, error: () => {} }
    const server = await RunningServer.start(config!, { logger, inMemory: false })
    const client = await connect(server.connectString)
    await client.create(`/${round}`, 'data of a node')
    await client.create(`/${round}/child`, '10.0.0.7')
    await client.set(`/${round}`, 'more')
    await client.transaction().create(`/${round}/a`, 'x').delete(`/${round}/child`).commit()
    await client.create(`/${round}/eph`, '', { ephemeral: true })
    session = `0x${BigInt.asUintN(64, client.session!.id).toString(16)}`
    await client.close()
    await server.stop()
  }
  files = join(dataDir, 'version-2')
})
afterAll(() => rmSync(folder, { recursive: true }))

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const logs = (): string[] =>
  readdirSync(files)
    .filter((name) => name.startsWith('log.'))
    .toSorted()

describe('zabra log', () => {
  test('ls shows each log with its zxids', async () => {
    const { stdout, code } = await zabra('log', 'ls', dataDir, '--json')
    const shown = JSON.parse(stdout) as {
      file: string
      firstZxid: string
      end: string
      records: number
    }[]
    expect(code).toBe(0)
    expect(shown.map(({ file }) => file).toSorted()).toEqual(logs())
    for (const { file, firstZxid } of shown) expect(`log.${firstZxid.slice(2)}`).toBe(file)
  })

  test('dump prints what happened, in order', async () => {
    const all = lines((await zabra('log', 'dump', dataDir, '--json', '--data')).stdout)
    const brief = all.map(({ operation, changes }) => [
      operation,
      (changes as { operation: string; path: string | null }[]).map(
        (each) => `${each.operation} ${each.path}`,
      ),
    ])
    expect(brief).toContainEqual(['multi', ['create2 /two/a', 'delete /two/child']])
    const zxids = all.map(({ zxid }) => BigInt(zxid as string))
    expect(zxids).toEqual(zxids.toSorted((a, b) => (a < b ? -1 : 1)))
    const text = (await zabra('log', 'dump', dataDir, '--data')).stdout
    expect(text).toMatch(
      /^0x[0-9a-f]+ 20\d\d-\S+ session 0x[0-9a-f]+ cxid \d+ create2 \/one "data of a node"$/m,
    )
  })

  test('grep finds by path, session, operation and zxid', async () => {
    const grep = async (...options: string[]) =>
      lines((await zabra('log', 'grep', dataDir, '--json', ...options)).stdout)
    for (const { changes } of await grep('--path', '/one'))
      expect((changes as { path: string }[]).some(({ path }) => path?.startsWith('/one'))).toBe(
        true,
      )
    const own = await grep('--session', session)
    expect(own.length).toBeGreaterThan(3)
    expect(new Set(own.map((each) => each['session']))).toEqual(new Set([session]))
    expect((await grep('--operation', 'setData')).map(({ operation }) => operation)).toEqual([
      'setData',
      'setData',
    ])
    const last = own.at(-1)!['zxid'] as string
    expect((await grep('--from', last)).at(0)!['zxid']).toBe(last)
    expect((await zabra('log', 'grep', dataDir, '--path', '/none')).code).toBe(1)
    expect((await zabra('log', 'grep', dataDir, '--from', 'yesterday')).code).toBe(2)
  })

  test('stats counts', async () => {
    const { stdout } = await zabra('log', 'stats', dataDir, '--json')
    const { operations, paths } = JSON.parse(stdout) as Record<
      string,
      { name: string; count: number }[]
    >
    expect(operations).toContainEqual(expect.objectContaining({ name: 'setData', count: 2 }))
    expect(paths!.map(({ name }) => name)).toContain('/one')
  })

  test('verify finds a flipped bit, and a log that is missing', async () => {
    expect((await zabra('log', 'verify', dataDir)).code).toBe(0)
    const [first] = logs()
    const copy = join(folder, 'flipped')
    await copyLogs(copy)
    const bytes = readFileSync(join(copy, first!))
    bytes[120]! ^= 1
    writeFileSync(join(copy, first!), bytes)
    const { code, stdout } = await zabra('log', 'verify', copy)
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`${first}: wrong checksum at byte \\d+`)),
    ])
  })

  test('verify names a record that is cut off', async () => {
    const copy = join(folder, 'cut')
    await copyLogs(copy)
    const last = logs().at(-1)!
    const { stdout } = await zabra('log', 'dump', join(copy, last), '--json')
    const { position, bytes } = lines(stdout).at(-1) as { position: number; bytes: number }
    truncateSync(join(copy, last), position + 12 + bytes - 3)
    const verified = await zabra('log', 'verify', copy)
    expect([verified.code, verified.stdout]).toEqual([
      1,
      expect.stringMatching(/cut off within a record/),
    ])
  })

  test('what is no log is named', async () => {
    expect(await zabra('log', 'ls', join(folder, 'nowhere'))).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/does not exist/) as string,
    })
    const odd = join(folder, 'notes.txt')
    writeFileSync(odd, 'x')
    expect((await zabra('log', 'dump', odd)).stderr).toMatch(/is not named like a log/)
  })

  async function copyLogs(to: string): Promise<void> {
    const { mkdir } = await import('node:fs/promises')
    await mkdir(to)
    for (const name of logs()) copyFileSync(join(files, name), join(to, name))
  }
})

describe('zabra snapshot', () => {
  test('ls and dump show what is stored', async () => {
    const shown = JSON.parse((await zabra('snapshot', 'ls', dataDir, '--json')).stdout) as {
      file: string
    }[]
    expect(shown.length).toBeGreaterThan(0)
    const nodes = lines((await zabra('snapshot', 'dump', dataDir, '--json', '--data')).stdout)
    const one = nodes.find(({ path }) => path === '/one')
    expect(one!['data']).toBe('more')
    expect(nodes.map(({ path }) => path)).toContain('/')
  })

  test('grep finds by path and by content', async () => {
    const found = lines(
      (await zabra('snapshot', 'grep', dataDir, '--content', '^mo', '--json')).stdout,
    )
    expect(found.map(({ path }) => path)).toContain('/one')
    expect((await zabra('snapshot', 'grep', dataDir, '--path', '/none')).code).toBe(1)
    expect((await zabra('snapshot', 'grep', dataDir, '--content', '(')).code).toBe(2)
  })

  test('stats tells what fills the tree', async () => {
    const { stdout } = await zabra('snapshot', 'stats', dataDir, '--json')
    const { largest, nodes } = JSON.parse(stdout) as { largest: { path: string }[]; nodes: number }
    expect(nodes).toBeGreaterThan(4)
    expect(largest[0]!.path).toMatch(/^\/(zookeeper\/config|one|two)/)
  })

  test('verify replays the logs and compares digests; a flipped bit is found', async () => {
    const { code, stdout } = await zabra('snapshot', 'verify', dataDir)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/sound/)])
    const copy = join(folder, 'snapshots')
    const { cpSync } = await import('node:fs')
    cpSync(files, copy, { recursive: true })
    const name = readdirSync(copy)
      .filter((each) => each.startsWith('snapshot.'))
      .toSorted()
      .at(-1)!
    const bytes = readFileSync(join(copy, name))
    bytes[bytes.length >> 1]! ^= 4
    writeFileSync(join(copy, name), bytes)
    const damaged = await zabra('snapshot', 'verify', join(copy, name))
    expect([damaged.code, damaged.stdout]).toEqual([1, expect.stringMatching(/problem/)])
  })
})

describe('zabra config check', () => {
  test('explains each line, and warns of dangers', async () => {
    const file = join(folder, 'zoo.cfg')
    writeFileSync(
      file,
      'tickTime=2000\ndataDir=/tmp/x\nclientPort=2181\nforceSync=no\nnio.numWorkerThreads=4\n',
    )
    const { code, stdout } = await zabra('config', 'check', file)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /4: forceSync=no\n(.*\n)* {3}danger: a write is acknowledged before it is on disk/,
    )
    expect(stdout).toMatch(/5: nio\.numWorkerThreads=4\n(.*\n)* {3}no effect: it tunes threads/)
    const brief = await zabra('config', 'check', file, '--brief')
    expect(brief.stdout).not.toMatch(/tickTime/)
  })

  test('an error is exit code 1, with its line', async () => {
    const file = join(folder, 'bad.cfg')
    writeFileSync(file, 'dataDir=/tmp/x\nclientPort=many\n')
    const { code, stdout } = await zabra('config', 'check', file, '--json')
    const { ok, diagnostics } = JSON.parse(stdout) as {
      ok: boolean
      diagnostics: { line: number }[]
    }
    expect([code, ok, diagnostics[0]!.line]).toEqual([1, false, 2])
    expect((await zabra('config', 'check', join(folder, 'none.cfg'))).code).toBe(4)
  })
})

describe('zabra tls', () => {
  test('makes certificates, and says what a configuration does with them', async () => {
    const certs = join(folder, 'certs')
    const made = await zabra('tls', 'init', certs, '--server', 'zk1=localhost', '--client', 'app')
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('client, CN=app,O=zabra')])
    const file = join(folder, 'tls.cfg')
    const configLine = /^ {2}(\w.*=.*)$/gm
    const config = [...made.stdout.matchAll(configLine)].map(([, line]) => line)
    writeFileSync(file, `dataDir=/tmp/x\nclientPort=2181\n${config.join('\n')}\n`)
    const checked = await zabra('tls', 'check', file)
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('CN=zk1,O=zabra')])
    const again = await zabra('tls', 'init', certs, '--server', 'zk1', '--days', '3', '--renew')
    expect(again.code).toBe(0)
    const short = await zabra('tls', 'check', file)
    expect([short.code, short.stdout]).toEqual([1, expect.stringMatching(/expires in 2 days/)])
  })

  test('says what cannot be done', async () => {
    expect((await zabra('tls', 'init', folder)).code).toBe(2)
    expect((await zabra('tls', 'init', folder, '--client', '../x')).stderr).toMatch(
      /cannot be the name/,
    )
    expect((await zabra('tls', 'check', '127.0.0.1:1')).stderr).toMatch(/connection refused/)
  })
})

test('a folder without logs is refused, with the data directory that is near', async () => {
  for (const command of ['log', 'snapshot']) {
    const { code, stderr } = await zabra(command, 'ls', folder)
    expect([code, stderr]).toEqual([4, expect.stringContaining(`data directory in ${dataDir}`)])
  }
  const empty = mkdtempSync(join(tmpdir(), 'zabra-'))
  const { stderr } = await zabra('log', 'ls', empty)
  expect(stderr).toContain('dataDir or dataLogDir in zoo.cfg')
  rmSync(empty, { recursive: true })
})

test('zabra doctor examines this machine and its disk', async () => {
  const { stdout } = await zabra('doctor', '--local', '--data-dir', folder, '--json')
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] }
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['node', 'disk sync', 'free space']),
  )
  expect(readdirSync(folder).filter((name) => name.startsWith('zabra-doctor'))).toEqual([])
  expect(existsSync(join(folder, 'probe'))).toBe(false)
})
