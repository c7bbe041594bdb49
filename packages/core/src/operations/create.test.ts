import { errorCodes } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { Database } from '../state/database.ts'
import { ByteKeeper } from '../base/byte-keeper.ts'
import { Projection } from '../state/projection/projection.ts'
import { prepareCreate } from './creating.ts'

const { badArguments, noNode, nodeExists } = errorCodes
const acl = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

/** Prepares creates of paths, one after the other; returns the error of each, if any. */
function refusals(paths: readonly string[]): (number | undefined)[] {
  const db = new Database({
    extendedTypes: true,
    digests: true,
    hashSeed: 7,
    acl: { skipAcl: false, schemes: new Set() },
  })
  db.createSystemNodes()
  const projection = new Projection(db)
  return paths.map((path, i) => {
    const prepared = prepareCreate(
      1,
      { path, data: null, acl, flags: 0 },
      {
        db,
        projection,
        rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
        caller: { sessionId: 1n, identities: [] },
        zxid: BigInt(i + 1),
        time: 1n,
        keeper: new ByteKeeper(),
      },
    )
    return typeof prepared === 'number' ? prepared : undefined
  })
}

test('an error of the path is reported after one of its parent, even for unusual spellings of the root', () => {
  expect(refusals(['/a', '/a/b', '/a', '/', '/é', '/é/ü'])).toEqual([
    undefined,
    undefined,
    nodeExists,
    nodeExists,
    undefined,
    undefined,
  ])
  expect(refusals(['//P', '//', '/..', 'P', '', '/a\0'])).toEqual(
    Array.from({ length: 6 }, () => badArguments),
  )
  expect(refusals(['/none/P', '/none/', '///', '//P/Q', '/none//P'])).toEqual(
    Array.from({ length: 5 }, () => noNode),
  )
})
