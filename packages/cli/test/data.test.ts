import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { superDigest, superPassword } from './support/super-user.ts'
import { zabraFor, type Zabra } from './support/zabra.ts'

let server: RunningServer
let client: Client
let zabra: Zabra
let folder: string

beforeAll(async () => {
  server = await startServer({
    config: {
      extendedTypesEnabled: 'true',
      enforceQuota: 'true',
      'DigestAuthenticationProvider.superDigest': superDigest,
    },
  })
  client = await connect(server.connectString, {
    auth: [{ scheme: 'digest', credentials: superPassword }],
  })
  zabra = zabraFor(server.connectString)
  folder = mkdtempSync(join(tmpdir(), 'zabra-data-'))
})

afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

beforeEach(async () => {
  for (const name of await client.children('/'))
    if (name !== 'zookeeper') await client.deleteTree(`/${name}`)
})

/** The JSON that a command prints. */
async function json(...words: string[]): Promise<unknown> {
  const { stdout, stderr } = await zabra(...words, '--json')
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

async function done(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await zabra(...words)
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/^zabra:/m)])
  return stdout
}

describe('one node', () => {
  test('is made, read, changed and deleted', async () => {
    const lonely = await zabra('create', '/no/parent')
    expect([lonely.code, lonely.stderr]).toEqual([
      4,
      'zabra: cannot create /no/parent: /no does not exist\n  --parents (-p) also creates missing parents\n',
    ])
    expect(await done('create', '/a', 'one')).toBe('/a\n')
    expect(await done('get', '/a')).toBe('one\n')
    expect(await done('get', '/a', '--raw')).toBe('one')
    expect(await done('set', '/a', 'two', '--if-version', '0')).toBe('')
    expect((await zabra('set', '/a', 'three', '--if-version', '0')).code).toBe(6)
    expect(await json('get', '/a')).toMatchObject({ path: '/a', data: 'two', stat: { version: 1 } })
    expect((await zabra('delete', '/a', '--if-version', '7')).code).toBe(6)
    expect(await done('delete', '/a')).toBe('')
    expect((await zabra('delete', '/a')).code).toBe(4)
  })

  test('has its parents made, a number, a TTL, an ACL, data from stdin and from a file', async () => {
    expect(await done('create', '-p', '/x/y/z', 'deep')).toBe('/x/y/z\n')
    expect(await done('create', '-s', '/x/n-')).toMatch(/^\/x\/n-\d{10}\n$/)
    expect(await done('create', '--ttl', '1h', '/x/ttl')).toBe('/x/ttl\n')
    expect(await done('create', '/x/acl', 'q', '--acl', 'world:anyone:r')).toBe('/x/acl\n')
    expect(await done('acl', 'get', '/x/acl')).toBe('world:anyone:r\n')
    await zabra('set', '/x/in', '-', '--create', { stdin: 'piped' })
    expect(await done('get', '/x/in')).toBe('piped\n')
    const file = join(folder, 'data.bin')
    writeFileSync(file, Buffer.from([0, 255, 1]))
    await done('set', '/x/in', '--file', file)
    expect(await json('get', '/x/in')).toMatchObject({ data64: 'AP8B' })
    await done('set', '/x/in', '--none')
    expect(await json('get', '/x/in')).toMatchObject({ data: null })
  })

  test('an ephemeral one lasts until the command is interrupted', async () => {
    const controller = new AbortController()
    const command = zabra('create', '-e', '/alive', { signal: controller.signal })
    await expect.poll(() => client.exists('/alive')).toBeDefined()
    controller.abort()
    expect((await command).code).toBe(0)
    expect(await client.exists('/alive')).toBeUndefined()
  })

  test('get -w waits for the next change', async () => {
    await done('create', '/watched', '1')
    const waiting = zabra('get', '-w', '/watched', '--json')
    const { setTimeout: delay } = await import('node:timers/promises')
    for (let version = 2; version < 100; version++) {
      await client.set('/watched', String(version))
      if ((await Promise.race([waiting, delay(20)])) !== undefined) break
    }
    const [, change] = (await waiting).stdout.trim().split('\n')
    expect(JSON.parse(change!)).toEqual({ change: 'changed', path: '/watched' })
  })
})

describe('many nodes', () => {
  beforeEach(async () => {
    for (const path of ['/t', '/t/a', '/t/a/b', '/t/c', '/t/c/d']) await client.create(path, path)
    await client.create('/t/e', 'alive', { ephemeral: true })
  })

  test('are listed, drawn and summed up', async () => {
    expect(await done('ls', '/t')).toBe('a\nc\ne\n')
    expect(await done('ls', '-R', '/t')).toBe('/t\n/t/a\n/t/a/b\n/t/c\n/t/c/d\n/t/e\n')
    expect(await done('tree', '/t')).toBe(
      '/t\n|-- a\n|   `-- b\n|-- c\n|   `-- d\n`-- e  (ephemeral)\n',
    )
    expect(await done('tree', '/t', '-d', '1')).toBe(
      '/t\n|-- a  (1 child)\n|-- c  (1 child)\n`-- e  (ephemeral)\n',
    )
    expect(await done('tree', '/t', '--children', '1')).toBe(
      '/t  (3 children, the first 1 shown)\n`-- a\n    `-- b\n',
    )
    expect(await done('ls', '-R', '-s', '/t')).toMatch(/\/t\/e\nczxid .*\nnumChildren {4}3\n$/s)
    expect(await json('ls', '-R', '-s', '/t')).toMatchObject({ stat: { numChildren: 3 } })
    expect(await json('du', '/t')).toEqual({
      path: '/t',
      subtrees: [
        { path: '/t', bytes: 27, nodes: 6 },
        { path: '/t/a', bytes: 10, nodes: 2 },
        { path: '/t/c', bytes: 10, nodes: 2 },
        { path: '/t/e', bytes: 5, nodes: 1 },
      ],
    })
    expect(await json('top-nodes', '/t', '--by', 'children', '-n', '1')).toMatchObject({
      nodes: [{ path: '/t', numChildren: 3, subtreeNodes: 6 }],
    })
  })

  test('are found by name, kind, size, age and owner', async () => {
    expect(await done('find', '/t', '--name', '?', '--leaf', '--kind', 'persistent')).toBe(
      '/t/a/b\n/t/c/d\n',
    )
    expect(await done('find', '/t', '--kind', 'ephemeral')).toBe('/t/e\n')
    const { session } = client
    expect(await done('find', '/', '--owner', session!.id.toString(16))).toBe('/t/e\n')
    expect(await done('find', '/t', '--min-size', '6')).toBe('/t/a/b\n/t/c/d\n')
    expect((await zabra('find', '/t', '--older-than', '1h')).code).toBe(1)
    expect((await zabra('find', '/t', '--regex', '(')).code).toBe(2)
  })

  test('are searched', async () => {
    await client.set('/t/a', 'first\nsecond line\nthird')
    expect(await done('grep', 'SECOND|alive', '/t', '-i')).toBe('/t/a:second line\n/t/e:alive\n')
    expect(await done('grep', '-l', '^/t/c', '/t')).toBe('/t/c\n/t/c/d\n')
    expect(await json('grep', '-F', 'd l', '/t')).toEqual({
      path: '/t',
      matches: [{ path: '/t/a', line: 2, text: 'second line' }],
    })
    expect((await zabra('grep', 'nowhere', '/t')).code).toBe(1)
    await client.set('/t/a', 'a \u001b[2J sequence')
    const shown = await zabra('grep', 'seq', '/t', '--color', 'never', { isTerminal: true })
    expect(shown.stdout).toBe(String.raw`/t/a:a \x1b[2J sequence` + '\n')
  })

  test('are deleted together or not at all', async () => {
    const refused = await zabra('delete', '/t/a/b', '/t/c')
    expect(refused.code).toBe(6)
    expect(await client.exists('/t/a/b')).toBeDefined()
    await done('delete', '/t/a/b', '/t/c/d')
    expect(await done('ls', '/t/a')).toBe('')
  })

  test('deleteall shows its impact, and asks where it can', async () => {
    const asked = await zabra('deleteall', '/t')
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')])
    const dry = await zabra('deleteall', '/t', '--dry-run')
    expect(dry.stdout).toContain(
      'would delete 6 nodes, 27 B, of which 1 ephemeral of 1 live session',
    )
    expect(await client.exists('/t/a/b')).toBeDefined()
    await done('deleteall', '/t', '--yes')
    expect(await client.exists('/t')).toBeUndefined()
    expect((await zabra('deleteall', '/', '--yes')).code).toBe(2)
  })

  test('deleteall deletes nothing where it may not look', async () => {
    await client.create('/t/c/closed', 'x', {
      acl: [{ perms: 0, id: { scheme: 'world', id: 'anyone' } }],
    })
    const { code } = await zabra('deleteall', '/t', '--yes')
    expect(code).toBe(5)
    expect(await client.exists('/t/a/b')).toBeDefined()
  })

  test('are copied, and moved in one transaction', async () => {
    expect((await zabra('cp', '-R', '/t', '/t/inside')).code).toBe(2)
    await client.setAcl('/t/a/b', [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }])
    await done('cp', '-R', '/t', '/copy')
    expect(await done('ls', '-R', '/copy')).toBe('/copy\n/copy/a\n/copy/a/b\n/copy/c\n/copy/c/d\n')
    expect(await done('acl', 'get', '/copy/a/b')).toBe('world:anyone:r\n')
    await client.set('/t/a', 'new')
    expect((await zabra('cp', '-R', '/t', '/copy')).code).toBe(6)
    await done('cp', '-Rf', '/t', '/copy')
    expect(await done('get', '/copy/a')).toBe('new\n')
    await done('mv', '/copy', '/moved/here', '-p')
    expect(await client.exists('/copy')).toBeUndefined()
    expect(await done('get', '/moved/here/c/d')).toBe('/t/c/d\n')
    expect((await zabra('mv', '/t', '/u')).stderr).toContain('/t/e is ephemeral')
  })

  test('have ACLs changed below a node', async () => {
    await done('acl', 'set', '/t/a', '-R', 'world:anyone:rw', 'password:ann:secret:cdrwa')
    // Without the right to change an ACL its hashes are hidden.
    const closed = 'world:anyone:rw,digest:ann:x:cdrwa'
    expect(await done('acl', 'get', '-R', '/t/a')).toBe(`/t/a  ${closed}\n/t/a/b  ${closed}\n`)
    const copied = await zabra('cp', '-R', '/t/a', '/t/copy')
    expect([copied.code, copied.stderr]).toEqual([
      5,
      expect.stringContaining('the hashes in the ACL of /t/a'),
    ])
    await done('cp', '-R', '/t/a', '/t/copy', '--auth', 'digest:ann:secret')
    const open = await done('acl', 'get', '/t/copy', '--auth', 'digest:ann:secret')
    expect(open).toMatch(/^world:anyone:rw\ndigest:ann:[A-Za-z0-9+/]{27}=:cdrwa\n$/)
  })

  test('have quotas', async () => {
    expect((await zabra('quota', '/t')).code).toBe(4)
    await done('quota', '/t/a', '--hard-count', '3', '--bytes', '1k')
    expect(await json('quota')).toEqual({
      quotas: [
        {
          path: '/t/a',
          count: null,
          bytes: 1024,
          hardCount: 3,
          hardBytes: null,
          usedCount: 2,
          usedBytes: 10,
        },
      ],
    })
    await done('create', '/t/a/x')
    expect((await zabra('create', '/t/a/y')).stderr).toContain('zabra quota')
    expect((await zabra('quota', '/t', '--count', '9')).stderr).toContain('/t/a')
    await done('quota', '/t/a', '--delete')
    await done('create', '/t/a/y')
    expect(await client.children('/zookeeper/quota')).toEqual([])
  })
})

describe('txn', () => {
  test('does all operations of a file, or none', async () => {
    await client.create('/a', '1')
    const run = (text: string) => zabra('txn', '-', { stdin: text })
    const { code, stdout } = await run(
      "# a comment\ncheck /a 0\ncreate /b 'x y'\ncreate -s /n-\nset -v 0 /a 2\n",
    )
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^check \/a\ncreate \/b\ncreate \/n-\d+\nset \/a\n$/),
    ])
    expect(await done('get', '/b')).toBe('x y\n')
    expect((await run('delete /b\nset -v 0 /a 3')).code).toBe(6)
    expect(await client.exists('/b')).toBeDefined()
    const wrong = await run('set /a\n')
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('stdin:1: set needs')])
  })
})

describe('edit', () => {
  const editor = (script: string): string => {
    const file = join(folder, `editor-${Math.random()}.mjs`)
    writeFileSync(
      file,
      `import { readFileSync, writeFileSync } from 'node:fs'\nconst file = process.argv[2]\n${script}\n`,
    )
    return `${process.execPath} ${file}`
  }

  test('saves what the editor wrote', async () => {
    await client.create('/config', '{"a":1}')
    const change = editor(`writeFileSync(file, readFileSync(file, 'utf8').replace('1', '2'))`)
    const { code, stderr } = await zabra('edit', '/config', '--editor', change)
    expect([code, stderr]).toEqual([0, 'saved version 1\n'])
    expect(await done('get', '/config')).toBe('{"a":2}\n')
    expect((await zabra('edit', '/config', '--editor', editor(''))).stderr).toBe('no change\n')
    expect((await zabra('edit', '/config', '--editor', editor('process.exit(3)'))).code).toBe(7)
    expect((await zabra('edit', '/config', '--editor', '/no/such/editor')).code).toBe(4)
  })

  test('saves nothing over a change of somebody else, and keeps the text', async () => {
    await client.create('/config', 'old')
    const other = join(folder, 'flag')
    const slow = editor(
      `writeFileSync(${JSON.stringify(other)}, '')\nwhile (readFileSync(${JSON.stringify(other)}, 'utf8') === '') ;\nwriteFileSync(file, 'mine')`,
    )
    const editing = zabra('edit', '/config', '--editor', slow)
    await expect.poll(() => exists(other)).toBe(true)
    await client.set('/config', 'theirs')
    writeFileSync(other, 'go')
    const { code, stderr } = await editing
    expect(code).toBe(6)
    const [, draft = ''] = /your text is in (\S+)/.exec(stderr) ?? []
    expect(readFileSync(draft, 'utf8')).toBe('mine')
    rmSync(join(draft, '..'), { recursive: true })
    expect(await done('get', '/config')).toBe('theirs\n')
  })

  function exists(file: string): boolean {
    try {
      return readFileSync(file, 'utf8') === ''
    } catch {
      return false
    }
  }
})

test('data on a terminal are indented JSON, or a dump, never sequences that it obeys', async () => {
  await client.create('/json', '{"a":[1,{"b":12345678901234567890}],"c":{}}')
  const shown = await zabra('get', '/json', '--color', 'never', { isTerminal: true })
  expect(shown.stdout).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": 12345678901234567890\n    }\n  ],\n  "c": {}\n}\n',
  )
  await client.create('/evil', '\u001b[2J')
  const dump = await zabra('get', '/evil', '--color', 'never', { isTerminal: true })
  expect(dump.stdout).toBe(`00000000  1b 5b 32 4a${' '.repeat(12)}  ${' '.repeat(23)}  |.[2J|\n`)
})
