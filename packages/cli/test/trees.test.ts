import { mkdtempSync, rmSync, writeFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acl, connect, noData, type Acl, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import fc from 'fast-check'
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
      'DigestAuthenticationProvider.superDigest': superDigest,
    },
  })
  const auth = [{ scheme: 'digest', credentials: superPassword }]
  client = await connect(server.connectString, { auth })
  zabra = zabraFor(server.connectString, { ZABRA_AUTH: `digest:${superPassword}` })
  folder = mkdtempSync(join(tmpdir(), 'zabra-trees-'))
})

afterAll(async () => {
  await client.close()
  await server.stop()
  rmSync(folder, { recursive: true })
})

beforeEach(clear)

async function clear(): Promise<void> {
  for (const name of await client.children('/'))
    if (name !== 'zookeeper') await client.deleteTree(`/${name}`)
}

test('a path that is also a file is a node, and a note says so', async () => {
  const file = join(folder, 'same.yaml')
  writeFileSync(file, 'zabra: tree')
  const { code, stderr } = await zabra('diff', file, '/')
  expect([code, stderr]).toEqual([4, expect.stringContaining(`file:${file}`)])
})

async function done(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await zabra(...words)
  expect([words[0], code, stderr]).toEqual([words[0], 0, expect.not.stringMatching(/^zabra:/m)])
  return stdout
}

interface Node {
  readonly name: string
  readonly data: Uint8Array
  readonly kind: 'persistent' | 'ephemeral' | 'container' | 'ttl' | 'sequential'
  readonly acl: readonly Acl[]
  readonly children: readonly Node[]
  /** Children that came and went. */
  readonly past: number
}

const world = (perms: number): Acl => ({ perms, id: { scheme: 'world', id: 'anyone' } })

const names = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'with space',
    'ü',
    ':',
    '-x',
    '#',
    'no',
    '1',
    'a\\b',
    "it's",
    '"q"',
    '{}',
    '日本',
  ),
  fc.stringMatching(/^[a-zA-Z0-9:,;_=-]{1,12}$/),
)

const texts = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    'yes',
    '1',
    'null',
    '~',
    ' leading',
    'trailing ',
    'a\nb\n',
    '\n',
    '\r\n',
    '\t',
    'a: b',
    '# no',
    '{"a":1}',
    '\u0085',
    '\ufeffbom',
    '- x',
    '|',
    "'",
    '"',
  ),
  fc.string({ unit: 'binary' }),
)

const data = fc.oneof(
  texts.map((text) => new Uint8Array(Buffer.from(text))),
  fc.uint8Array({ maxLength: 40 }),
  fc.constant(noData),
)

const acls = fc.constantFrom<readonly Acl[]>(
  [world(31)],
  [world(1)],
  [world(0), ...acl.digest('ann', 'secret')],
  [...acl.digest('joe', 'a:b', 'rw'), { perms: 31, id: { scheme: 'ip', id: '127.0.0.1' } }],
)

function treeOf(depth: number): fc.Arbitrary<Node> {
  return fc.record({
    name: names,
    data,
    kind: fc.constantFrom('persistent', 'ephemeral', 'container', 'ttl', 'sequential'),
    acl: acls,
    past: fc.constantFrom(0, 0, 0, 1, 7),
    children: depth === 0 ? fc.constant([]) : fc.array(treeOf(depth - 1), { maxLength: 4 }),
  })
}

const tree = treeOf(3)

async function plant(parent: string, node: Node): Promise<void> {
  const { kind } = node
  const made = await client
    .create(`${parent}/${node.name}`, node.data, {
      acl: node.acl,
      ephemeral: kind === 'ephemeral',
      container: kind === 'container',
      sequential: kind === 'sequential',
      ...(kind === 'ttl' ? { ttlMs: 3_600_000 } : {}),
    })
    .catch(() => undefined)
  if (made === undefined || kind === 'ephemeral') return
  for (let i = 0; i < node.past; i++) {
    const { path } = await client.create(`${made.path}/gone-`, '', { sequential: true })
    await client.delete(path)
  }
  for (const child of node.children) await plant(made.path, child)
}

/** Numbers that the next sequential children get, by path. */
async function nextNumbers(top: string): Promise<Record<string, string>> {
  const numbers: Record<string, string> = {}
  const look = async (path: string): Promise<void> => {
    const { children, stat } = await client.childrenWithStat(path)
    if (stat.ephemeralOwner !== 0n) return
    for (const name of children) await look(`${path}/${name}`)
    const made = await client.create(`${path}/next-`, '', { sequential: true })
    numbers[path.slice(top.length)] = made.path.slice(-10)
    await client.delete(made.path)
  }
  await look(top)
  return numbers
}

describe('export, import and diff', () => {
  for (const format of ['jsonl', 'yaml'] as const) {
    test(`any tree comes back from ${format} as it was, and its numbers go on`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(tree, { maxLength: 3 }), async (nodes) => {
          await clear()
          await client.create('/from', noData)
          for (const node of nodes) await plant('/from', node)
          const file = join(folder, `tree.${format}`)
          await done('export', '/from', '-o', file)
          await done('import', file, '/to')
          expect(await done('diff', '/from', '/to')).toBe('')
          expect(await done('diff', `file:${file}`, '/to')).toBe('')
          // A second export is the same, except for ephemeral nodes.
          const again = await done('export', '/to', '--format', format)
          const once = await done('export', '/from', '--format', format, '--skip-ephemerals')
          const neutral = (text: string): string =>
            text
              .replaceAll(/"?counter"?: ?\d+/g, '')
              .replaceAll('/from', '/to')
              .replaceAll(/,(?=\})/g, '')
          if (!nodes.some(hasEphemeral)) expect(neutral(again)).toBe(neutral(once))
          const [left, right] = [await nextNumbers('/from'), await nextNumbers('/to')]
          for (const path of Object.keys(right))
            expect(Number(right[path])).toBeGreaterThanOrEqual(Number(left[path]))
        }),
        { numRuns: 25 },
      )
    })
  }

  function hasEphemeral({ kind, children }: Node): boolean {
    return kind === 'ephemeral' || children.some(hasEphemeral)
  }

  test('a snapshot tells of containers and TTLs, which then are made again', async () => {
    const own = join(folder, 'server')
    const config = { dataDir: own, extendedTypesEnabled: 'true', snapCount: '10' }
    const other = await startServer({ config })
    const at = zabraFor(other.connectString)
    const there = await connect(other.connectString)
    try {
      await there.create('/s', 'x', { container: true })
      await there.create('/s/ttl', noData, { ttlMs: 123_456 })
      await there.create('/s/acl', 'y', { acl: [world(1)] })
      await there.create('/s/n-', '', { sequential: true })
      const begun = newestSnapshot(own)
      // A server takes a snapshot after so many transactions.
      await expect
        .poll(async () => {
          await there.set('/s', 'x')
          return newestSnapshot(own) !== begun
        })
        .toBe(true)
      const snapshot = newestSnapshot(own)
      const { stdout, stderr, code } = await at('export', '/s', '--snapshot', snapshot)
      expect([code, stderr]).toEqual([0, 'exported 4 nodes\n'])
      const lines = stdout
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line) as object)
      expect(lines).toEqual([
        { path: '/s', data: 'x', kind: 'container', counter: 3 },
        { path: '/s/acl', data: 'y', acl: ['world:anyone:r'] },
        { path: '/s/n-0000000002', data: '' },
        { path: '/s/ttl', data: null, kind: 'ttl', ttlMs: 123_456 },
      ])
      expect((await at('diff', `file:${snapshot}`, '/')).stdout).toBe('')
      expect((await at('import', '-', '/again', { stdin: stdout })).code).toBe(0)
      expect((await at('diff', '/s', '/again')).code).toBe(0)
    } finally {
      await there.close()
      await other.stop()
    }
  })

  function newestSnapshot(dataDir: string): string {
    const zxid = (name: string): number => Number.parseInt(name.slice('snapshot.'.length), 16)
    const files = readdirSync(join(dataDir, 'version-2'))
    const snapshots = files.filter((name) => name.startsWith('snapshot.'))
    return join(dataDir, 'version-2', snapshots.toSorted((a, b) => zxid(a) - zxid(b)).at(-1)!)
  }

  test('nodes that exist and are different stop an import, unless told', async () => {
    await client.create('/a', 'new')
    await client.create('/a/b', 'b')
    const text = await done('export', '/a')
    await client.set('/a', 'old')
    const refused = await zabra('import', '-', { stdin: text })
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('--existing')])
    expect((await zabra('import', '-', '--existing', 'skip', { stdin: text })).code).toBe(0)
    expect(await done('get', '/a')).toBe('old\n')
    expect((await zabra('import', '-', '--existing', 'overwrite', { stdin: text })).code).toBe(0)
    expect(await done('get', '/a')).toBe('new\n')
  })

  const broken: readonly (readonly [string, RegExp])[] = [
    ['', /no tree of zabra/],
    ['{"zabra":"tree","version":2,"top":"/"}', /version 2 of the format/],
    ['{"zabra":"tree","version":1,"top":"/a"}\n{"path":"/b"}', /\/b is not below \/a/],
    [
      '{"zabra":"tree","version":1,"top":"/a"}\n{"path":"/a","nope":1}',
      /stdin:2: a node has no field 'nope'/,
    ],
    ['{"zabra":"tree","version":1,"top":"/a"}\n{"path":"/a"', /stdin:2: /],
    ['zabra: tree\nversion: 1\ntop: /a\nnodes: [', /stdin: /],
    ['zabra: tree\nversion: 1\ntop: /a\nnodes:\n  /a: {data: 1}', /data is a text/],
    ['zabra: tree\nversion: 1\ntop: /a\nnodes:\n  /a: {data: x, json: 1}', /data and json/],
    [
      'zabra: tree\nversion: 1\ntop: /a\nnodes:\n  /a: {acl: [world:anyone:q]}',
      /'q' in 'world:anyone:q'/,
    ],
  ]
  test.each(broken)('a file that is none says why: %j', async (text, sentence) => {
    const { code, stderr } = await zabra('import', '-', { stdin: text })
    expect(code).not.toBe(0)
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toMatch(/ at .*\.ts/)
  })

  test('diff shows lines, fields and sides', async () => {
    await client.create('/a', 'one\ntwo\nthree')
    await client.create('/a/left', 'x')
    await client.create('/b', 'one\n2\nthree')
    await client.create('/b/right', 'y', { acl: [world(1)] })
    const { code, stdout } = await zabra('diff', '/a', '/b', '--data')
    expect(code).toBe(1)
    expect(stdout).toBe(
      '~ /  data\n      one\n    - two\n    + 2\n      three\n- /left  (1 B)\n+ /right  (1 B)\n',
    )
    const json = JSON.parse((await zabra('diff', '/a', '/b', '--json')).stdout) as object
    expect(json).toEqual({
      from: '/a',
      to: '/b',
      differences: [
        { path: '/', change: 'update', fields: ['data'] },
        { path: '/left', change: 'delete' },
        { path: '/right', change: 'create' },
      ],
      create: 1,
      update: 1,
      delete: 1,
    })
  })

  test('diff compares two ensembles', async () => {
    await client.create('/a', 'x')
    const other = await startServer()
    try {
      const there = await connect(other.connectString)
      await there.create('/b', 'x')
      await there.close()
      const servers = `zk://${other.connectString}/b`
      expect((await zabra('diff', '/a', servers)).code).toBe(0)
      await done('cp', '-R', '/a', `zk://${other.connectString}/c`)
      expect((await zabra('diff', servers, `zk://${other.connectString}/c`)).code).toBe(0)
    } finally {
      await other.stop()
    }
  })
})

describe('plan and apply', () => {
  const file = (): string => join(folder, 'app.yaml')
  const write = (nodes: string): void =>
    writeFileSync(file(), `zabra: tree\nversion: 1\ntop: /app\nnodes:\n${nodes}`)

  test('make an ensemble what a file says, and then find nothing to do', async () => {
    writeFileSync(join(folder, 'logo.bin'), Buffer.from([1, 2, 3]))
    write(`  /app:
  /app/config: |
    a: 1
  /app/flags: {json: {beta: true, list: [1, 2]}}
  /app/logo: {file: logo.bin}
  /app/closed: {data: x, acl: ["world:anyone:r"]}
  /app/jobs: {kind: container}
  /app/deep/er: {data: y}
`)
    const plan = await zabra('plan', file())
    expect(plan.code).toBe(1)
    expect(plan.stderr).toContain('8 nodes to create, 0 to change, 0 to delete')
    expect(await client.exists('/app')).toBeUndefined()
    const asked = await zabra('apply', file())
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')])
    const applied = JSON.parse(await done('apply', file(), '--yes', '--json')) as object
    expect(applied).toEqual({ path: '/app', created: 8, changed: 0, deleted: 0, transactions: 1 })
    expect(await done('get', '/app/flags')).toBe('{"beta":true,"list":[1,2]}\n')
    expect(await done('get', '/app/config')).toBe('a: 1\n\n')
    expect((await zabra('plan', file())).code).toBe(0)
    expect(JSON.parse(await done('apply', file(), '--yes', '--json'))).toMatchObject({
      created: 0,
      transactions: 0,
    })
  })

  test('show drift, and leave open what the file leaves open', async () => {
    write('  /app:\n  /app/a: one\n  /app/b:\n')
    await done('apply', file(), '--yes')
    await client.set('/app/a', 'changed by hand')
    await client.set('/app/b', 'free')
    await client.create('/app/c', 'not in the file')
    await client.setAcl('/app/b', [world(31), ...acl.digest('ann', 'x')])
    const plan = await zabra('plan', file())
    expect(plan.stdout).toBe('~ /app/a  data\n    - changed by hand\n    + one\n')
    expect(plan.stderr).toContain('1 node not in the file')
    const { version } = (await client.exists('/app/b'))!
    await done('apply', file(), '--yes', '--prune')
    expect(await client.exists('/app/c')).toBeUndefined()
    expect((await client.exists('/app/b'))!.version).toBe(version)
    expect((await zabra('plan', file(), '--prune')).code).toBe(0)
  })

  test('prune leaves what live sessions use', async () => {
    write('  /app:\n')
    for (const path of ['/app', '/app/unused', '/app/used']) await client.create(path)
    await client.create('/app/used/member', '', { ephemeral: true })
    await done('apply', file(), '--yes', '--prune')
    expect(await done('ls', '-R', '/app')).toBe('/app\n/app/used\n/app/used/member\n')
  })

  test('a change of somebody else between plan and apply stops it, with nothing changed', async () => {
    const { applyDifferences } = await import('../src/trees/apply.ts')
    const { compareTrees } = await import('../src/trees/compare.ts')
    const { readTree } = await import('../src/trees/tree.ts')
    const { readTreeFile } = await import('../src/trees/read-file.ts')
    const { processIo } = await import('../src/framework/io.ts')
    const { signal } = new AbortController()
    write('  /app: top\n  /app/a: one\n  /app/new: n\n')
    await client.create('/app', 'top')
    await client.create('/app/a', 'two')
    const wanted = (await readTreeFile(file(), processIo)).tree
    const differences = compareTrees(wanted, await readTree(client, '/app', { signal }))
    await client.set('/app/a', 'three')
    const applying = applyDifferences(client, '/app', differences, { signal, prune: false })
    await expect(applying).rejects.toMatchObject({ code: 'badVersion', exitCode: 6 })
    expect(await client.exists('/app/new')).toBeUndefined()
  })

  test('any exported tree is applied once, and then there is nothing to do', async () => {
    await fc.assert(
      fc.asyncProperty(tree, tree, async (one, other) => {
        await clear()
        await client.create('/app', noData)
        await plant('/app', one)
        await done('export', '/app', '-o', file(), '--skip-ephemerals')
        await clear()
        await client.create('/app', noData)
        await plant('/app', { ...other, kind: 'persistent' })
        await done('apply', file(), '--yes', '--prune')
        expect((await zabra('plan', file(), '--prune')).stdout).toBe('')
      }),
      { numRuns: 25 },
    )
  })
})

describe('mirror', () => {
  test('makes the target what the source is', async () => {
    await client.create('/a', 'x')
    await client.create('/a/b', 'y')
    await client.create('/m', 'other')
    await client.create('/m/extra')
    await done('mirror', '/a', '/m')
    expect(await done('ls', '-R', '/m')).toBe('/m\n/m/b\n/m/extra\n')
    expect((await zabra('mirror', '/a', '/m', '--delete')).code).toBe(2)
    await done('mirror', '/a', '/m', '--delete', '--yes')
    expect((await zabra('diff', '/a', '/m')).code).toBe(0)
    expect((await zabra('mirror', '/a', '/a/inside')).code).toBe(2)
  })

  test('goes on with every change', async () => {
    await client.create('/a', 'x')
    const controller = new AbortController()
    const mirroring = zabra('mirror', '/a', '/m', '--delete', '--follow', '--yes', {
      signal: controller.signal,
    })
    await expect.poll(async () => client.exists('/m')).toBeDefined()
    await client.create('/a/b', '1')
    await client.set('/a', 'y')
    await expect.poll(async () => (await zabra('diff', '/a', '/m')).code).toBe(0)
    await client.delete('/a/b')
    await expect.poll(async () => client.exists('/m/b')).toBeUndefined()
    controller.abort()
    expect((await mirroring).code).toBe(0)
  })
})
