/**
 * A snapshot that is written while transactions are applied contains parts of every state since its
 * name. Replaying the log from there must lead to the one true state, in everything a server holds.
 */
import { decodeText } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  apacheSnapshot,
  zabraSnapshot,
  type SnapshotPieces,
} from '../../test/support/fuzzy-snapshots.ts'
import { anyStep, open, World, worldOptions as options } from '../../test/support/world.ts'
import { LoadingDatabase } from '../storage/recovery/load.ts'
import { MemoryDisk } from '../storage/disk/memory-disk.ts'
import { loadSnapshot } from '../storage/snapshot/snapshot.ts'
import type { Database } from './database.ts'

// --- what must come of it ------------------------------------------------------------------------

const directory = '/version-2'

async function restore(file: Uint8Array, zxid: bigint, log: World['log']): Promise<Database> {
  const disk = new MemoryDisk()
  await disk.makeDirectory(directory)
  const handle = await disk.create(`${directory}/snapshot`)
  await handle.write(file, 0)
  await handle.close()
  const loading = new LoadingDatabase(options)
  await loadSnapshot(disk, directory, 'snapshot', loading)
  loading.lastZxid = zxid
  for (const { header, txn } of log) if (header.zxid > zxid) loading.db.apply(header, txn)
  loading.db.finishLoading()
  return loading.db
}

/** The whole content of a database, in a comparable form. */
function contentOf(db: Database): unknown {
  const { tree, acls } = db
  const nodes: Record<string, unknown> = {}
  const end = tree.successorSkipping(tree.find('/'))
  for (let id = tree.find('/'); id !== end; id = tree.successor(id)) {
    const stat = new Uint8Array(68)
    tree.copyStat(id, new DataView(stat.buffer))
    const data = tree.data(id)
    nodes[tree.pathOf(id)] = {
      data: data === null ? null : decodeText(data),
      stat: Buffer.from(stat).toString('hex'),
      acl: db.aclOf(id).acl,
      descendants: tree.descendantCount(id),
    }
  }
  const pathsOf = (ids: Iterable<number>): string[] =>
    [...ids].map((id) => tree.pathOf(id)).toSorted()
  const owners = [...tree.sessionsWithEphemerals()]
  const far = 1_000_000_000_000_000n
  return {
    nodes,
    ephemerals: new Map(owners.map((session) => [session, pathsOf(tree.ephemeralsOf(session))])),
    reclaimable: pathsOf(tree.reclaimable(far, 1n)),
    quotas: [...db.quotas.report()].toSorted((a, b) => a.path.localeCompare(b.path)),
    sessions: db.sessions,
    acls: [...acls.entries()].map(([, acl]) => JSON.stringify(acl)).toSorted(),
    size: tree.size,
    dataBytes: tree.dataBytes,
    ephemeralCount: tree.ephemeralCount,
    digest: tree.digest.value,
    zxid: db.lastZxid,
  }
}

const steps = fc.array(anyStep, { maxLength: 120, size: 'max' })

test.each([
  ['Apache', apacheSnapshot, true],
  ['zabra', zabraSnapshot, true],
  // Apache's snapshots do not lead to the true state if the end of a session lists no paths.
  ['zabra, which logs no paths,', zabraSnapshot, false],
] as const)(
  'whatever happens while %s writes a snapshot, the log from its start on gives it all back',
  async (_, write: (db: Database) => SnapshotPieces, closeSessionPaths) => {
    await fc.assert(
      fc.asyncProperty(steps, steps, steps, async (before, during, after) => {
        const world = new World(closeSessionPaths)
        world.do({ op: 'begin', session: 1n })
        world.do({ op: 'begin', session: 2n })
        for (const step of before) world.do(step)
        const { lastZxid } = world.db
        const pieces = write(world.db)
        let piece = pieces.next()
        for (const step of during) {
          if (piece.done !== true && step.op === 'write') piece = pieces.next()
          world.do(step)
        }
        while (piece.done !== true) piece = pieces.next()
        for (const step of after) world.do(step)
        const restored = await restore(piece.value, lastZxid, world.log)
        world.db.acls.dropUnused()
        expect(contentOf(restored)).toEqual(contentOf(world.db))
      }),
      { numRuns: 300 },
    )
  },
)

test('a node that was deleted, created again and given a child is found with an earlier snapshot', async () => {
  const world = new World()
  const create = (path: string): void =>
    world.do({
      op: 'change',
      session: 1n,
      change: { op: 'create', path, data: null, acl: open, kind: 'plain' },
    })
  const remove = (path: string): void =>
    world.do({ op: 'change', session: 1n, change: { op: 'delete', path } })
  world.do({ op: 'begin', session: 1n })
  create('/a')
  create('/a/b')
  const { lastZxid } = world.db
  const pieces = apacheSnapshot(world.db)
  // Advances past the sessions, the ACLs, the root, and /a, which counts its child.
  for (let i = 0; i < 4; i++) pieces.next()
  remove('/a/b')
  create('/a/b')
  create('/a/b/c')
  let piece = pieces.next()
  while (piece.done !== true) piece = pieces.next()
  const restored = await restore(piece.value, lastZxid, world.log)
  expect(contentOf(restored)).toEqual(contentOf(world.db))
})
