import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { digestIdentity, sha1 } from './digest.ts'
import { granted, warningsAbout } from './grants.ts'

test('passwords are hashed as servers hash them', () => {
  expect(digestIdentity('super', 'test')).toBe('super:D/InIHSb7yEEbrWz8b9l71RjZJU=')
  for (const length of [0, 1, 54, 55, 56, 63, 64, 65, 1000]) {
    const message = new Uint8Array(length).map((_, i) => (i * 31) % 256)
    expect(Buffer.from(sha1(message)).toString('hex')).toBe(
      createHash('sha1').update(message).digest('hex'),
    )
  }
})

const ann = [
  { scheme: 'ip', id: '10.0.0.1' },
  { scheme: 'digest', id: 'ann' },
]
const everybody = { scheme: 'world', id: 'anyone', perms: 'r' }

test('a caller has the permissions of all entries that match', () => {
  const acl = [everybody, { scheme: 'digest', id: 'ann:hash', perms: 'wa' }]
  expect([...granted(acl, ann)]).toEqual(['r', 'w', 'a'])
  expect([...granted(acl, [])]).toEqual(['r'])
  expect([...granted([{ scheme: 'digest', id: 'bob:hash', perms: 'crwda' }], ann)]).toEqual([])
})

test('a caller is warned before it loses permissions', () => {
  const open = [{ ...everybody, perms: 'crwda' }]
  const others = [{ scheme: 'digest', id: 'bob:hash', perms: 'crwda' }]
  expect(warningsAbout(open, open, ann)).toEqual([])
  expect(warningsAbout([{ scheme: 'auth', id: '', perms: 'crwda' }], open, ann)).toEqual([])
  expect(warningsAbout(others, open, ann)).toEqual([
    'You could not read the data any more.',
    'You could not change this access any more.',
  ])
  expect(warningsAbout([everybody], open, ann)).toEqual([
    'Nobody but a super user could change this access again.',
    'You could not change this access any more.',
  ])
  expect(warningsAbout([{ scheme: 'ip', id: ' ', perms: 'a' }], [], ann)).toEqual([
    'An entry names nobody.',
  ])
})
