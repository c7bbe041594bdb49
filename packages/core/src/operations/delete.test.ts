import { errorCodes } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { Database } from '../state/database.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { Projection } from '../state/projection/projection.ts'
import { prepareCreate } from './creating.ts'
import { deleteContainer } from './delete-container.ts'
import { deleteNode } from './delete.ts'
import type { Preparation } from './preparation.ts'
import { setData } from './set-data.ts'

const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

/** Returns a preparation for each given time. */
function preparer(): (timeMs: number) => Preparation {
  const db = new Database({
    extendedTypes: true,
    digests: false,
    hashSeed: 7,
    acl: { skipAcl: false, schemes: new Set() },
  })
  db.createSystemNodes()
  const projection = new Projection(db)
  let zxid = 0n
  return (timeMs) => ({
    db,
    projection,
    rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
    caller: { sessionId: 1n, identities: [] },
    zxid: ++zxid,
    time: BigInt(timeMs),
    keeper: new ByteKeeper(),
  })
}

const node = (flags: number, ttl?: bigint) => ({
  path: '/n',
  data: null,
  acl,
  flags,
  ...(ttl === undefined ? {} : { ttl }),
})
const reclaim = { path: '/n', neverUsedMsMax: 0 }

test('a TTL node that was due and then written to is not reclaimed', () => {
  const at = preparer()
  prepareCreate(21, node(5, 100n), at(0))
  setData.prepare({ path: '/n', data: null, version: -1 }, at(1000))
  expect(deleteContainer.prepare(reclaim, at(1001))).toBe(errorCodes.badVersion)
  expect(deleteContainer.prepare(reclaim, at(1101))).toMatchObject({ type: 20 })
})

test('a TTL node that was due and then recreated as a container is not reclaimed', () => {
  const at = preparer()
  prepareCreate(21, node(5, 100n), at(0))
  deleteNode.prepare({ path: '/n', version: -1 }, at(1000))
  prepareCreate(19, node(4), at(1000))
  expect(deleteContainer.prepare(reclaim, at(9999))).toBe(errorCodes.badVersion)
})

test('a container is reclaimed after its child is deleted', () => {
  const at = preparer()
  prepareCreate(19, node(4), at(0))
  prepareCreate(1, { ...node(0), path: '/n/child' }, at(1))
  expect(deleteContainer.prepare(reclaim, at(2))).toBe(errorCodes.notEmpty)
  deleteNode.prepare({ path: '/n/child', version: -1 }, at(3))
  expect(deleteContainer.prepare(reclaim, at(4))).toMatchObject({ type: 20 })
})

test('a node that is neither a container nor has a TTL is never reclaimed', () => {
  const at = preparer()
  prepareCreate(1, node(0), at(0))
  expect(deleteContainer.prepare(reclaim, at(9999))).toBe(errorCodes.badVersion)
})
