import { crc32 } from 'node:zlib'
import {
  containerOwner,
  decode,
  encode,
  MalformedError,
  parentOf,
  Reader,
  Stat,
  StatPersisted,
  Writer,
} from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ttlOwner } from './layout.ts'
import { PathScanner } from './scanned-path.ts'
import { noNode, openAclId, Tree, type NodeId } from './tree.ts'

// --- a tree one can check by reading it ----------------------------------------------------------

interface ModelNode {
  data: Uint8Array | null
  aclId: number
  stat: StatPersisted
  /** Oldest first. */
  children: string[]
}

const pathFrom = (parent: string, name: string): string =>
  parent === '/' ? `/${name}` : `${parent}/${name}`

class Model {
  readonly nodes = new Map<string, ModelNode>([
    ['/', { data: new Uint8Array(0), aclId: openAclId, stat: statOf(0n, 0n, 0n), children: [] }],
  ])

  at(path: string): ModelNode {
    return this.nodes.get(path)!
  }

  create(path: string, node: Omit<ModelNode, 'children'>): void {
    this.nodes.set(path, { ...node, children: [] })
    const parent = this.at(parentOf(path))
    parent.children.push(path)
    parent.stat.cversion++
    parent.stat.pzxid = node.stat.czxid
  }

  delete(path: string, zxid: bigint): void {
    this.nodes.delete(path)
    const parent = this.at(parentOf(path))
    parent.children = parent.children.filter((child) => child !== path)
    parent.stat.pzxid = zxid
  }

  descendants(path: string): number {
    return this.at(path).children.reduce((sum, child) => sum + 1 + this.descendants(child), 0)
  }

  get dataBytes(): number {
    let bytes = 0
    for (const [path, { data }] of this.nodes) {
      bytes += (path === '/' ? 0 : Buffer.byteLength(path)) + (data?.length ?? 0)
    }
    return bytes
  }

  /** By definition: a sum of CRCs over path, data and stat, without the reserved subtree. */
  get digest(): bigint {
    let sum = 0n
    for (const [path, { data, stat }] of this.nodes) {
      if (path.startsWith('/zookeeper/')) continue
      const numbers = Buffer.alloc(60)
      const longs = [stat.czxid, stat.mzxid, stat.pzxid, stat.ctime, stat.mtime]
      for (const [i, value] of longs.entries()) numbers.writeBigInt64BE(value, 8 * i)
      const ints = [stat.version, stat.cversion, stat.aversion]
      for (const [i, value] of ints.entries()) numbers.writeInt32BE(value, 40 + 4 * i)
      numbers.writeBigInt64BE(stat.ephemeralOwner, 52)
      const head = Buffer.from(path === '/' ? '' : path)
      sum += BigInt(crc32(Buffer.concat([head, data ?? new Uint8Array(0), numbers])))
    }
    return BigInt.asUintN(64, sum)
  }
}

function statOf(zxid: bigint, time: bigint, ephemeralOwner: bigint): StatPersisted {
  const zxids = { czxid: zxid, mzxid: zxid, pzxid: zxid }
  const times = { ctime: time, mtime: time }
  return { ...zxids, ...times, version: 0, cversion: 0, aversion: 0, ephemeralOwner }
}

/** Compares all that can be read from a tree. */
function expectSame(tree: Tree, model: Model): void {
  expect(tree.size).toBe(model.nodes.size)
  expect(tree.dataBytes).toBe(model.dataBytes)
  expect(tree.digest.value).toBe(model.digest)
  const owned = new Map<bigint, string[]>()
  for (const [path, { data, aclId, stat, children }] of model.nodes) {
    const id = tree.find(path)
    expect(id, path).not.toBe(noNode)
    expect(tree.pathOf(id)).toBe(path)
    expect(bytesOf(tree.data(id))).toBe(bytesOf(data))
    expect(tree.aclId(id)).toBe(aclId)
    expect([...tree.children(id)].map((child) => tree.pathOf(child))).toEqual(children)
    expect(tree.descendantCount(id)).toBe(model.descendants(path))
    const utf8 = Buffer.from(`xx${path}x`)
    const isAscii = utf8.length === path.length + 3
    expect(tree.findAscii(utf8, 2, utf8.length - 1)).toBe(isAscii ? id : -1)
    const isMarked = stat.ephemeralOwner < 0n
    if (stat.ephemeralOwner > 0n) {
      owned.set(stat.ephemeralOwner, [...(owned.get(stat.ephemeralOwner) ?? []), path])
    }
    expect(statSeen(tree, id)).toEqual({
      ...stat,
      cversion: 2 * stat.cversion - children.length,
      ephemeralOwner: isMarked ? 0n : stat.ephemeralOwner,
      dataLength: data?.length ?? 0,
      numChildren: children.length,
    })
  }
  expect(new Set(tree.sessionsWithEphemerals())).toEqual(new Set(owned.keys()))
  for (const [session, paths] of owned) {
    const found = [...tree.ephemeralsOf(session)].map((id) => tree.pathOf(id))
    expect(found.toSorted()).toEqual(paths.toSorted())
  }
  expect(tree.ephemeralCount).toBe([...owned.values()].flat().length)
}

const bytesOf = (data: Uint8Array | null): string | null =>
  data === null ? null : Buffer.from(data).toString('hex')

function statSeen(tree: Tree, id: NodeId): Stat {
  const writer = new Writer()
  tree.writeStat(id, writer)
  return decode(Stat, writer.written())
}

// --- random histories ----------------------------------------------------------------------------

type Step =
  | { do: 'create'; at: number; name: string; data: Uint8Array | null; owner: bigint }
  | { do: 'delete' | 'setAcl'; at: number }
  | { do: 'setData' | 'setLocalData'; at: number; data: Uint8Array | null }

const names = ['a', 'b', 'c', 'zookeeper', 'é', '日本', 'x'.repeat(70), 'a b', '...', 'aa']
const owners = [0n, 0n, 0n, 0x100n, 0x200n, containerOwner, ttlOwner(5000n)]
const data = fc.option(
  fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc.integer({ min: 0, max: 3000 }).map((length) => new Uint8Array(length).fill(length)),
  ),
  { freq: 8 },
)
const at = fc.nat()
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      at,
      name: fc.constantFrom(...names),
      data,
      owner: fc.constantFrom(...owners),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setAcl' as const), at }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('setData' as const, 'setLocalData' as const),
      at,
      data,
    }),
  },
)

/** Plays a step on both; leaves out steps that are impossible. */
function play(step: Step, zxid: bigint, tree: Tree, model: Model): void {
  const time = 1000n + zxid
  const paths = [...model.nodes.keys()]
  const path = paths[step.at % paths.length]!
  const node = model.at(path)
  const id = tree.find(path)
  if (step.do === 'create') {
    const child = pathFrom(path, step.name)
    if (model.nodes.has(child) || node.stat.ephemeralOwner > 0n) return
    // A prepared transaction comes with its checksum.
    const isPrepared = zxid % 2n === 0n
    const contentChecksum = isPrepared ? crc32(step.data ?? '', crc32(child)) | 0 : undefined
    const { data: written, owner } = step
    tree.insert(child, id, { data: written, aclId: 7, owner, zxid, time, contentChecksum })
    tree.raiseChildren(id, child, node.stat.cversion + 1, zxid)
    model.create(child, { data: step.data, aclId: 7, stat: statOf(zxid, time, step.owner) })
  } else if (step.do === 'delete') {
    if (path === '/' || node.children.length > 0) return
    tree.remove(id)
    tree.raisePzxid(tree.find(parentOf(path)), path, zxid)
    model.delete(path, zxid)
    expect(tree.find(path)).toBe(noNode)
  } else if (step.do === 'setAcl') {
    tree.setAcl(id, path, 9, ++node.stat.aversion)
    node.aclId = 9
  } else if (step.do === 'setData' || step.do === 'setLocalData') {
    if (step.do === 'setData') {
      node.stat.mzxid = zxid
      node.stat.mtime = time
      tree.setData(id, path, step.data, { zxid, time, version: ++node.stat.version })
    } else {
      tree.setLocalData(id, path, step.data)
    }
    node.data = step.data
  }
}

function copyOf(tree: Tree): Tree {
  const writer = new Writer()
  const cursor = tree.cursor()
  while (cursor.writeNodes(writer, 100));
  cursor.release()
  writer.ustring('/')
  const copy = new Tree({ hashSeed: 99 })
  const reader = new Reader(writer.written())
  while (copy.loadNode(reader, () => {}));
  expect(reader.remaining).toBe(0)
  return copy
}

test('after any history a tree equals a plain map of nodes', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), fc.integer(), (steps, hashSeed) => {
      const tree = new Tree({ hashSeed })
      const model = new Model()
      for (const [i, each] of steps.entries()) play(each, BigInt(i + 1), tree, model)
      expectSame(tree, model)
    }),
    { numRuns: 120 },
  )
})

test('a tree loaded from a snapshot continues like the original', () => {
  const history = fc.array(anyStep, { maxLength: 40 })
  fc.assert(
    fc.property(history, history, (before, after) => {
      const tree = new Tree()
      const model = new Model()
      for (const [i, each] of before.entries()) play(each, BigInt(i + 1), tree, model)
      const copy = copyOf(tree)
      expectSame(copy, model)
      for (const [i, each] of after.entries()) play(each, BigInt(100 + i), copy, model)
      expectSame(copy, model)
    }),
    { numRuns: 80 },
  )
})

// --- looking up ----------------------------------------------------------------------------------

const made = { data: null, aclId: openAclId, owner: 0n, zxid: 1n, time: 1n }

test('both / and the empty path are the root', () => {
  const tree = new Tree()
  expect(tree.find('/')).toBe(tree.find(''))
  expect(tree.pathOf(tree.find('/'))).toBe('/')
  expect(tree.findAscii(new Uint8Array(0), 0, 0)).toBe(tree.find('/'))
})

test('only the exact path finds a node', () => {
  const tree = new Tree()
  tree.insert('/a', tree.find('/'), made)
  tree.insert('/a/bc', tree.find('/a'), made)
  expect(tree.find('/a/bc')).not.toBe(noNode)
  for (const path of [
    'a',
    '/a/',
    '//a',
    '/a/b',
    '/a/bcd',
    '/a//bc',
    '/bc',
    'a/bc',
    '/A',
    '/a/bc/',
  ]) {
    expect(tree.find(path), path).toBe(noNode)
    const bytes = Buffer.from(path)
    expect(tree.findAscii(bytes, 0, bytes.length), path).toBe(noNode)
  }
})

test('two hundred thousand nodes are found, before and after most are deleted', () => {
  const tree = new Tree({ hashSeed: 12345, digests: false })
  const root = tree.find('/')
  const count = 200_000
  const parents = Array.from({ length: 200 }, (_, i) => tree.insert(`/p${i}`, root, made))
  const path = (i: number): string => `/p${i % 200}/node-${i}`
  for (let i = 0; i < count; i++) tree.insert(path(i), parents[i % 200]!, made)
  expect(tree.size).toBe(count + 201)
  expect(tree.descendantCount(root)).toBe(count + 200)
  const misplaced = (): number => {
    let wrong = 0
    for (let i = 0; i < count; i++) {
      const id = tree.find(path(i))
      const shouldBe = i < removedFrom || i % 10 === 0
      if ((id !== noNode) !== shouldBe || (id !== noNode && tree.nameOf(id) !== `node-${i}`))
        wrong++
    }
    return wrong
  }
  let removedFrom = count
  expect(misplaced()).toBe(0)
  for (let i = 0; i < count; i++) if (i % 10 !== 0) tree.remove(tree.find(path(i)))
  removedFrom = 0
  expect(misplaced()).toBe(0)
  expect(tree.size).toBe(count / 10 + 201)
  for (let i = 0; i < count; i++) {
    if (i % 10 !== 0) tree.insert(path(i), parents[i % 200]!, made)
  }
  removedFrom = count
  expect(misplaced()).toBe(0)
})

test('paths with the same hash are distinguished', () => {
  const scanner = new PathScanner(0)
  const byHash = new Map<number, string>()
  const alike: [string, string][] = []
  for (let i = 0; alike.length < 3; i++) {
    const path = `/${Math.imul(i, 0x9e3779b1)}-${i}`
    const { hash } = scanner.scan(path)
    const other = byHash.get(hash)
    if (other === undefined) byHash.set(hash, path)
    else alike.push([other, path])
  }
  const tree = new Tree({ hashSeed: 0 })
  for (const [one, other] of alike) {
    tree.insert(one, tree.find('/'), made)
    expect(tree.find(other)).toBe(noNode)
    tree.insert(other, tree.find('/'), made)
    expect(tree.pathOf(tree.find(one))).toBe(one)
    expect(tree.pathOf(tree.find(other))).toBe(other)
    tree.remove(tree.find(one))
    expect(tree.find(one)).toBe(noNode)
    expect(tree.pathOf(tree.find(other))).toBe(other)
  }
})

test('a tree prepared for a large snapshot finds its nodes', () => {
  for (const snapshotBytes of [0, 1000, 100_000_000]) {
    const tree = new Tree({ hashSeed: 3 })
    tree.expect(snapshotBytes)
    for (let i = 0; i < 1000; i++) tree.insert(`/${i}`, tree.find('/'), made)
    for (let i = 0; i < 1000; i++) expect(tree.pathOf(tree.find(`/${i}`))).toBe(`/${i}`)
    expect(tree.find('/1000')).toBe(noNode)
  }
})

// --- stats ---------------------------------------------------------------------------------------

test('marks of containers and TTL nodes never leave the server', () => {
  const tree = new Tree({ extendedTypes: true })
  const root = tree.find('/')
  const owner = (path: string): bigint => statSeen(tree, tree.find(path)).ephemeralOwner
  tree.insert('/container', root, { ...made, owner: containerOwner })
  tree.insert('/ttl', root, { ...made, owner: ttlOwner(123456n) })
  tree.insert('/ephemeral', root, { ...made, owner: -0x7fffffffffffff00n })
  expect(owner('/container')).toBe(0n)
  expect(owner('/ttl')).toBe(0n)
  expect(owner('/ephemeral')).toBe(-0x7fffffffffffff00n)
  expect(tree.ephemeralCount).toBe(1)
})

test('without extended types, an owner that looks like a TTL is a session', () => {
  const tree = new Tree({ extendedTypes: false })
  const owner = ttlOwner(99n)
  const id = tree.insert('/x', tree.find('/'), { ...made, owner })
  expect(statSeen(tree, id).ephemeralOwner).toBe(owner)
  expect(tree.isEphemeral(id)).toBe(true)
})

test('owners of containers and TTL nodes are stored as Apache stores them', () => {
  expect(BigInt.asUintN(64, containerOwner)).toBe(0x8000000000000000n)
  expect(BigInt.asUintN(64, ttlOwner(123456n))).toBe(0xff0000000001e240n)
  expect(BigInt.asUintN(64, ttlOwner(99n))).toBe(0xff00000000000063n)
})

test('an emptied container and an expired TTL node can be reclaimed, and no other node', () => {
  const tree = new Tree()
  const root = tree.find('/')
  const used = tree.insert('/used', root, { ...made, owner: containerOwner })
  tree.raiseChildren(used, '/used/child', 1, 2n)
  tree.insert('/unused', root, { ...made, owner: containerOwner, time: 1000n })
  const full = tree.insert('/full', root, { ...made, owner: containerOwner })
  tree.raiseChildren(full, '/full/child', 1, 3n)
  tree.insert('/full/child', full, made)
  tree.insert('/ttl', root, { ...made, owner: ttlOwner(500n), time: 1000n })
  tree.insert('/plain', root, made)
  const reclaimable = (now: bigint, maxNeverUsedMs: bigint): string[] =>
    [...tree.reclaimable(now, maxNeverUsedMs)].map((id) => tree.pathOf(id)).toSorted()
  expect(reclaimable(1500n, 600n)).toEqual(['/used'])
  expect(reclaimable(1501n, 600n)).toEqual(['/ttl', '/used'])
  expect(reclaimable(1601n, 600n)).toEqual(['/ttl', '/unused', '/used'])
  expect(reclaimable(9_000_000n, 0n)).toEqual(['/ttl', '/used'])
})

test('counters and pzxid of a parent never decrease', () => {
  const tree = new Tree()
  const root = tree.find('/')
  tree.raiseChildren(root, '/child', 5, 50n)
  tree.raiseChildren(root, '/child', 5, 60n)
  tree.raiseChildren(root, '/child', 4, 70n)
  expect([tree.createCount(root), tree.pzxid(root)]).toEqual([5, 50n])
  tree.raisePzxid(root, '/child', 40n)
  expect(tree.pzxid(root)).toBe(50n)
  tree.raisePzxid(root, '/child', 51n)
  expect(tree.pzxid(root)).toBe(51n)
})

// --- loading -------------------------------------------------------------------------------------

function stored(path: string, content: Uint8Array | null = null): Uint8Array {
  const writer = new Writer()
  writer.ustring(path)
  writer.buffer(content)
  writer.long(-1n)
  writer.raw(encode(StatPersisted, statOf(1n, 1n, 0n)))
  return writer.written()
}

test('a truncated stored node leaves the tree unchanged', () => {
  const bytes = stored('/a', Buffer.from('hello'))
  for (let end = 0; end < bytes.length; end++) {
    const tree = new Tree()
    const { value } = tree.digest
    expect(() => tree.loadNode(new Reader(bytes.slice(0, end)), () => {})).toThrow(MalformedError)
    expect([tree.size, tree.dataBytes, tree.digest.value]).toEqual([1, 0, value])
    expect(tree.find('/a')).toBe(noNode)
  }
})

test('a stored node before its parent, or without /, is malformed', () => {
  const tree = new Tree()
  expect(() => tree.loadNode(new Reader(stored('/a/b')), () => {})).toThrow(MalformedError)
  expect(() => tree.loadNode(new Reader(stored('a')), () => {})).toThrow(MalformedError)
})

test.each(['fffffffe', '80000000', '7fffffff'])(
  'a stored length of 0x%s is malformed',
  (length) => {
    const bytes = Buffer.from(stored('/a', Buffer.from('x')))
    for (const place of [0, 6]) {
      const bad = Buffer.from(bytes)
      bad.write(length, place, 'hex')
      expect(() => new Tree().loadNode(new Reader(bad), () => {})).toThrow(MalformedError)
    }
  },
)

// --- walking while the tree changes --------------------------------------------------------------

test('a walk visits every lasting node once, after its parent, and no path twice', () => {
  const history = fc.array(anyStep, { minLength: 10, maxLength: 60 })
  const slices = fc.array(fc.array(anyStep, { maxLength: 6 }), { minLength: 1, maxLength: 15 })
  fc.assert(
    fc.property(history, slices, fc.integer({ min: 1, max: 400 }), (before, between, bytesMax) => {
      const tree = new Tree()
      const model = new Model()
      let zxid = 0n
      for (const each of before) play(each, ++zxid, tree, model)
      const lasting = new Map(model.nodes)
      const forgetGone = (): void => {
        for (const [path, node] of lasting) if (model.nodes.get(path) !== node) lasting.delete(path)
      }
      const writer = new Writer()
      const cursor = tree.cursor()
      for (const steps of between) {
        if (!cursor.writeNodes(writer, bytesMax)) break
        for (const each of steps) play(each, ++zxid, tree, model)
        forgetGone()
      }
      while (cursor.writeNodes(writer, bytesMax));
      cursor.release()
      expectSame(tree, model)

      const met = new Set<string>()
      const reader = new Reader(writer.written())
      while (reader.remaining > 0) {
        const path = reader.ustring() || '/'
        reader.buffer()
        reader.long()
        StatPersisted.read(reader)
        if (path !== '/') expect(met.has(parentOf(path)), `the parent of ${path}`).toBe(true)
        expect(met.has(path), `${path} for the second time`).toBe(false)
        met.add(path)
      }
      for (const path of lasting.keys()) expect(met.has(path), path).toBe(true)
    }),
    { numRuns: 150 },
  )
})

test('a node that is deleted and created again during a walk is not visited twice', () => {
  const tree = new Tree()
  const root = tree.find('/')
  for (const name of ['a', 'b', 'c']) tree.insert(`/${name}`, root, made)
  const writer = new Writer()
  const cursor = tree.cursor()
  cursor.writeNodes(writer, 100) // the root and /a
  tree.remove(tree.find('/a'))
  tree.insert('/a', root, made)
  tree.insert('/a/x', tree.find('/a'), made)
  while (cursor.writeNodes(writer, 100));
  cursor.release()
  const copy = new Tree()
  const reader = new Reader(writer.written())
  while (reader.remaining > 0) copy.loadNode(reader, () => {})
  expect([...copy.children(copy.find('/'))].map((id) => copy.nameOf(id))).toEqual(['a', 'b', 'c'])
})

test('a released walk writes nothing more', () => {
  const tree = new Tree()
  const cursor = tree.cursor()
  cursor.release()
  const writer = new Writer()
  expect(cursor.writeNodes(writer, 100)).toBe(false)
  expect(writer.position).toBe(0)
})

test('children are listed oldest first', () => {
  const tree = new Tree()
  const root = tree.find('/')
  for (const name of ['c', 'é', 'a']) tree.insert(`/${name}`, root, made)
  tree.remove(tree.find('/c'))
  tree.insert('/b', root, made)
  const writer = new Writer()
  tree.writeChildren(root, writer)
  const reader = new Reader(writer.written())
  expect(Array.from({ length: reader.int() }, () => reader.ustring())).toEqual(['é', 'a', 'b'])
})
