import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { loadConfig, RunningServer } from '@zabra/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { superDigest, superPassword } from './support/super-user.ts'
import { zabraFor, type Said, type Zabra } from './support/zabra.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

async function start(dataDir: string, more: object = {}): Promise<RunningServer> {
  const { config } = loadConfig({
    env: {},
    overrides: {
      dataDir,
      clientPort: 0,
      'admin.serverPort': 0,
      'autopurge.purgeInterval': 0,
      'DigestAuthenticationProvider.superDigest': superDigest,
      ...more,
    },
  })
  return RunningServer.start(config!, { logger: silent, inMemory: false })
}

let folder: string
let backups: string
let server: RunningServer
let client: Client
let zabra: Zabra

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'zabra-'))
  backups = join(folder, 'backups')
  server = await start(join(folder, 'data'))
  await follow()
})
afterEach(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

async function follow(): Promise<void> {
  client = await connect(server.connectString)
  zabra = zabraFor(server.connectString, { ZABRA_AUTH: `digest:${superPassword}` })
}

async function restart(dataDir: string): Promise<void> {
  await client.close()
  await server.stop()
  server = await start(dataDir)
  await follow()
}

const backup = (...words: string[]): Promise<Said> =>
  zabra('backup', '--output', backups, '--admin', server.adminAddress!, ...words)
const folders = (): string[] => readdirSync(backups).toSorted()
const verify = async (): Promise<{ ok: boolean; problems: { file: string; message: string }[] }> =>
  JSON.parse((await zabra('backup', 'verify', backups, '--json')).stdout) as never
const zxid = async (): Promise<string> => {
  const { mzxid } = await client.set('/clock', '')
  return `0x${mzxid.toString(16)}`
}
async function text(path: string): Promise<string> {
  return Buffer.from((await client.get(path)).data).toString()
}

/** A full backup with two that follow, and a transaction of each. */
async function threeBackups(): Promise<string[]> {
  const points: string[] = []
  await client.create('/clock')
  await client.create('/app', 'one')
  points.push(await zxid())
  expect(await backup()).toMatchObject({ code: 0 })
  await client.set('/app', 'two')
  await client.create('/app/child', 'child')
  points.push(await zxid())
  expect(await backup()).toMatchObject({ code: 0 })
  await client.delete('/app/child')
  await client.set('/app', 'three')
  points.push(await zxid())
  expect(await backup()).toMatchObject({ code: 0 })
  return points
}

describe('zabra backup', () => {
  test('is full at first, then what is new, and can be restored to any transaction', async () => {
    const [first, second] = await threeBackups()
    expect(folders().map((name) => name.replace(/-.*-/, ' '))).toEqual([
      '000001 full',
      '000002 log',
      '000003 log',
    ])
    expect(await verify()).toMatchObject({ ok: true, problems: [] })
    const replayed = await zabra('backup', 'verify', backups, '--replay')
    expect(replayed).toMatchObject({ code: 0 })
    expect(replayed.stdout).toMatch(/transactions replayed, 0 problems$/m)

    const restored = join(folder, 'restored')
    expect(await zabra('restore', backups, '--to', second!, '--data-dir', restored)).toMatchObject({
      code: 0,
    })
    const other = join(folder, 'other')
    expect(await zabra('restore', backups, '--to', first!, '--data-dir', other)).toMatchObject({
      code: 0,
    })
    await restart(restored)
    expect(await text('/app')).toBe('two')
    expect(await text('/app/child')).toBe('child')
    // Above everything that the backups know.
    expect((await client.set('/app', 'new')).mzxid >> 32n).toBe(1n)
    await restart(other)
    expect(await text('/app')).toBe('one')
    expect(await client.exists('/app/child')).toBeUndefined()
  })

  test('says what is wrong where it cannot be taken', async () => {
    expect(await zabra('backup', { env: {} })).toMatchObject({ code: 2 })
    const nobody = await zabra('backup', '-o', backups, '--admin', server.adminAddress!, {
      env: { ZABRA_AUTH: '' },
    })
    expect(nobody.stderr).toContain('Credentials are needed')
    expect(nobody.code).toBe(5)
    const away = await zabra('backup', '-o', backups, '--admin', 'http://127.0.0.1:1')
    expect(away.code).toBe(3)
    expect(folders()).toEqual([])
  })
})

describe('a directory of backups', () => {
  test('keeps what is asked for, with all that follows it', async () => {
    await client.create('/clock')
    for (let round = 0; round < 7; round++) {
      await zxid()
      expect(await backup('--full-every', '2', '--keep', '2')).toMatchObject({ code: 0 })
      expect(await verify()).toMatchObject({ ok: true })
    }
    expect(folders().map((name) => name.replace(/-.*-/, ' '))).toEqual([
      '000004 full',
      '000005 log',
      '000006 log',
      '000007 full',
    ])
    // Between the last of one and the next full one nothing is missing.
    const ls = JSON.parse((await zabra('backup', 'ls', backups, '--json')).stdout) as {
      backups: { continues: boolean }[]
      restorable: { from: { zxid: string }; to: { zxid: string } }[]
    }
    expect(ls.backups.map(({ continues }) => continues)).toEqual([true, true, true, true])
    const [first, second] = ls.restorable
    expect(first!.to.zxid).toBe(second!.to.zxid)
  })

  test('is not harmed by runs that were killed, or that overlap', async () => {
    await threeBackups()
    const [, , third] = folders()
    const leftover = join(backups, '000004-20260101T000000Z-log.unfinished')
    mkdirSync(leftover)
    writeFileSync(join(leftover, 'log.1'), 'half')
    // Retention was killed while it removed the first.
    expect(await verify()).toMatchObject({ ok: true })
    expect((await zabra('backup', 'ls', backups)).stderr).toContain('being written, or interrupted')
    await zxid()
    const [one, other] = await Promise.all([backup(), backup()])
    expect(new Set([one.code, other.code])).toEqual(new Set([0, 6]))
    expect(`${one.stderr}${other.stderr}`).toContain('another backup is being written')
    expect(existsSync(leftover)).toBe(false)
    expect(folders().filter((name) => name > third!)).toHaveLength(1)
    expect(await verify()).toMatchObject({ ok: true })
  })

  test('begins again with a full backup where the server has another history', async () => {
    const [first] = await threeBackups()
    const restored = join(folder, 'restored')
    await zabra('restore', backups, '--to', first!, '--data-dir', restored)
    await restart(restored)
    await client.set('/app', 'another history')
    const { code, stderr } = await backup()
    expect(code).toBe(0)
    expect(stderr).toContain('a full backup is taken, because')
    expect(await verify()).toMatchObject({ ok: true })
    const both = JSON.parse((await zabra('backup', 'ls', backups, '--json')).stdout) as {
      restorable: unknown[]
    }
    expect(both.restorable).toHaveLength(2)
    // A transaction of the old history, and the newest of the new one.
    for (const [to, wanted] of [
      [['--to', first!], 'one'],
      [[], 'another history'],
    ] as const) {
      const directory = join(folder, `to-${wanted}`)
      expect(await zabra('restore', backups, ...to, '--data-dir', directory)).toMatchObject({
        code: 0,
      })
      await restart(directory)
      expect(await text('/app')).toBe(wanted)
    }
  })

  test('is filled from a pipe, too', async () => {
    await client.create('/clock')
    const stream = async (...words: string[]): Promise<Uint8Array> => {
      const { status, stdout } = await streamed(...words)
      expect(status).toBe(0)
      return stdout
    }
    const one = await stream()
    mkdirSync(backups)
    execFileSync('tar', ['x', '-C', backups], { input: one })
    await zxid()
    const two = await stream('--after', join(backups, folders()[0]!))
    execFileSync('tar', ['x', '-C', backups], { input: two })
    expect(await verify()).toMatchObject({ ok: true })
    expect(folders()).toHaveLength(2)
    const file = join(folder, 'backup.tar')
    const damaged = Buffer.from(one)
    damaged[700]! ^= 1
    for (const [bytes, isSound] of [
      [one, true],
      [two, true],
      [one.subarray(0, one.length - 1024), false],
      [one.subarray(0, one.length >> 1), false],
      [damaged, false],
    ] as const) {
      writeFileSync(file, bytes)
      expect((await zabra('backup', 'verify', file)).code).toBe(isSound ? 0 : 1)
      expect((await zabra('backup', 'verify', '-', { stdin: bytes })).code).toBe(isSound ? 0 : 1)
    }
  })
})

/** The command as it writes bytes to stdout. */
async function streamed(
  ...words: string[]
): Promise<{ readonly status: number; readonly stdout: Uint8Array }> {
  const { zabraCommand } = await import('./support/program.ts')
  const { spawn } = await import('node:child_process')
  const [program = '', ...args] = zabraCommand
  const options = ['--output', '-', '--admin', server.adminAddress!, ...words]
  const child = spawn(program, [...args, 'backup', ...options], {
    env: { ...process.env, ZABRA_AUTH: `digest:${superPassword}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of child.stdout as AsyncIterable<Uint8Array>) chunks.push(chunk)
  const status = await new Promise<number>((resolve) => {
    if (child.exitCode === null) child.once('exit', (code) => resolve(code ?? -1))
    else resolve(child.exitCode)
  })
  return { status, stdout: Buffer.concat(chunks) }
}

describe('zabra restore', () => {
  test('makes a subtree what it was, and touches nothing else', async () => {
    const [, second] = await threeBackups()
    await client.create('/other', 'stays')
    await client.create('/app/extra', 'goes')
    const before = await client.exists('/other')
    const restore = (...words: string[]) =>
      zabra('restore', backups, '--to', second!, '--path', '/app', ...words)
    const dry = await restore('--dry-run', '--data')
    expect(dry.stdout).toBe(
      '~ /app  data\n    - three\n    + two\n+ /app/child  (5 B)\n- /app/extra  (4 B)\n',
    )
    expect(await text('/app')).toBe('three')
    expect((await restore()).code).toBe(2)
    expect(await restore('--yes')).toMatchObject({ code: 0 })
    expect(await text('/app')).toBe('two')
    expect(await text('/app/child')).toBe('child')
    expect(await client.exists('/app/extra')).toBeUndefined()
    expect(await client.exists('/other')).toEqual(before)
    expect((await restore('--yes')).stderr).toContain('is as it was')
  })

  test('brings back ACLs, containers, TTLs, counters and parents', async () => {
    await client.create('/clock')
    await client.addAuth('digest', 'ann:secret')
    await client.create('/a', 'parent')
    await client.create('/a/b', '', { container: true })
    const own = [{ perms: 31, id: { scheme: 'auth', id: '' } }] as const
    await client.create('/a/b/c', 'child', { acl: own })
    for (let count = 0; count < 3; count++)
      await client.create('/a/b/c/n-', '', { sequential: true })
    await client.create('/a/b/c/eph', '', { ephemeral: true })
    const point = await zxid()
    expect(await backup()).toMatchObject({ code: 0 })
    await client.delete('/a/b/c/eph')
    await zabra('deleteall', '/a', '--yes')
    const restored = await zabra('restore', backups, '--to', point, '--path', '/a/b', '--yes')
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.stderr).toContain('left out 1 ephemeral node')
    expect(await text('/a')).toBe('parent')
    expect(await text('/a/b/c')).toBe('child')
    expect((await client.getAcl('/a/b/c')).acl[0]!.id.scheme).toBe('digest')
    const next = await client.create('/a/b/c/n-', '', { sequential: true })
    expect(next.path).toBe('/a/b/c/n-0000000004')
    // Its successor is a container again.
    expect(await backup()).toMatchObject({ code: 0 })
    const data = join(folder, 'again')
    expect(await zabra('restore', backups, '--data-dir', data)).toMatchObject({ code: 0 })
    const dump = await zabra('snapshot', 'dump', data)
    expect(dump.stdout).toMatch(/^\/a\/b container /m)
  })

  test('goes to a time, and says what is covered', async () => {
    await client.create('/clock')
    await client.create('/app', 'one')
    expect(await backup()).toMatchObject({ code: 0 })
    await client.set('/app', 'two')
    const { mtime } = (await client.exists('/app'))!
    // A later one is made in another millisecond.
    while (BigInt(Date.now()) <= mtime) await new Promise((resolve) => setImmediate(resolve))
    await client.set('/app', 'three')
    expect(await backup()).toMatchObject({ code: 0 })
    const time = new Date(Number(mtime)).toISOString()
    const data = join(folder, 'then')
    const { stderr, code } = await zabra('restore', backups, '--to', time, '--data-dir', data)
    expect([code, stderr]).toEqual([0, expect.stringContaining(time) as string])
    await restart(data)
    expect(await text('/app')).toBe('two')
    for (const to of ['2001-01-01T00:00Z', '2101-01-01T00:00Z', '0xffff00000001']) {
      const refused = await zabra('restore', backups, '--to', to, '--dry-run')
      expect([refused.code, refused.stderr]).toEqual([
        4,
        expect.stringMatching(/no backup covers .*\n.*there is 0x/) as string,
      ])
    }
    expect((await zabra('restore', backups, '--data-dir', data)).stderr).toContain('is not empty')
  })
})

describe('a backup of files', () => {
  test('goes on where the last one ended, whether from files or from a server', async () => {
    await client.create('/clock')
    const dataDir = join(folder, 'data')
    const offline = (): Promise<Said> => zabra('backup', '-o', backups, '--data-dir', dataDir)
    expect(await offline()).toMatchObject({ code: 0 })
    const point = await zxid()
    expect(await backup()).toMatchObject({ code: 0 })
    await restart(dataDir)
    await client.create('/after', '')
    expect(await offline()).toMatchObject({ code: 0 })
    expect(folders().map((name) => name.replace(/-.*-/, ' '))).toEqual([
      '000001 full',
      '000002 log',
      '000003 log',
    ])
    expect(await zabra('backup', 'verify', backups, '--replay')).toMatchObject({ code: 0 })
    const restored = join(folder, 'restored')
    expect(await zabra('restore', backups, '--to', point, '--data-dir', restored)).toMatchObject({
      code: 0,
    })
    await restart(restored)
    expect(await client.exists('/after')).toBeUndefined()
  })

  test('refuses damaged files by name', async () => {
    await client.create('/clock')
    await client.create('/data', 'x'.repeat(200))
    await zxid()
    const dataDir = join(folder, 'data')
    const copy = join(folder, 'copy')
    cpSync(dataDir, copy, { recursive: true })
    const log = readdirSync(join(copy, 'version-2')).find((name) => name.startsWith('log.'))!
    const path = join(copy, 'version-2', log)
    const bytes = readFileSync(path)
    bytes[bytes.indexOf('xxxx') + 10]! ^= 1
    writeFileSync(path, bytes)
    const { code, stderr } = await zabra('backup', '-o', backups, '--data-dir', copy)
    expect(code).toBe(7)
    expect(stderr).toContain(`${log} is damaged at byte`)
    expect(folders()).toEqual([])
  })
})

describe('zabra backup verify', () => {
  test('finds a flipped byte anywhere, and names its file', async () => {
    await threeBackups()
    const files = folders().flatMap((name) =>
      readdirSync(join(backups, name)).map((file) => join(name, file)),
    )
    expect(files.length).toBeGreaterThanOrEqual(10)
    for (const file of files) {
      const path = join(backups, file)
      const sound = readFileSync(path)
      const places = [0, sound.length >> 1, sound.length - 1, (sound.length * 7) >> 3]
      for (const at of places) {
        const damaged = Buffer.from(sound)
        damaged[at]! ^= 1
        writeFileSync(path, damaged)
        const { ok, problems } = await verify()
        expect([file, at, ok]).toEqual([file, at, false])
        const named = problems.map((problem) => `${problem.file} ${problem.message}`).join('\n')
        expect(named).toContain(file.split('/')[0])
        expect(named).toContain(file.split('/')[1])
      }
      writeFileSync(path, sound)
    }
    expect(await verify()).toMatchObject({ ok: true })
  }, 60_000)

  test('finds a missing file, a missing backup, another order, and a stranger', async () => {
    await threeBackups()
    const [first, second, third] = folders().map((name) => join(backups, name))
    const broken = async (change: () => void, wanted: RegExp): Promise<void> => {
      const copy = join(folder, 'copy')
      cpSync(backups, copy, { recursive: true })
      change()
      const { ok, problems } = await verify()
      expect(ok).toBe(false)
      expect(problems.map(({ file, message }) => `${file} ${message}`).join('\n')).toMatch(wanted)
      rmSync(backups, { recursive: true })
      renameSync(copy, backups)
    }
    const log = readdirSync(second!).find((name) => name.startsWith('log.'))!
    await broken(() => rmSync(join(second!, log)), /000002-.*\/log\..* is missing/)
    await broken(() => rmSync(second!, { recursive: true }), /^000002-\w+-log is missing$/m)
    await broken(() => rmSync(first!, { recursive: true }), /^000001-\w+-full is missing$/m)
    await broken(() => {
      renameSync(second!, `${second}x`)
      renameSync(third!, second!)
      renameSync(`${second}x`, third!)
    }, /000003-.* holds the manifest of backup 2/)
    await broken(() => writeFileSync(join(third!, 'log.1'), ''), /log\.1 does not belong here/)
    await broken(() => {
      // What retention has removed is not looked at; nobody removes the newest.
      const manifest = join(third!, 'manifest.json')
      const written = readFileSync(manifest, 'utf8')
      writeFileSync(manifest, written.replace(/"keepsFrom": \d/, '"keepsFrom": 9'))
    }, /000003-.*\/manifest\.json is damaged: it does not keep itself/)
    await broken(() => {
      // Consistent in itself, but not what the next one follows.
      const manifest = join(first!, 'manifest.json')
      writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('zabra ', 'other '))
      const sums = execFileSync(
        'sha256sum',
        readdirSync(first!).filter((name) => name !== 'SHA256SUMS'),
        { cwd: first },
      )
      writeFileSync(join(first!, 'SHA256SUMS'), sums)
    }, /000001-.*\/SHA256SUMS or what 000002-.* says of it was changed/)
    expect(await verify()).toMatchObject({ ok: true })
    expect(
      execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: third, encoding: 'utf8' }),
    ).toMatch(/manifest.json: OK/)
  }, 60_000)
})
