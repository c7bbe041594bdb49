import { errorCodes, permissions, type Acl, type Id } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { AclTable } from './acl-table.ts'
import { allows, fixAcl, grantsEach, maskAcl, type AclRules } from './permission.ts'

const rules: AclRules = { skipAcl: false, schemes: new Set(['ip', 'digest']) }
const entry = (scheme: string | null, id: string | null, perms = 31): Acl => ({
  perms,
  id: { scheme, id },
})
const world = entry('world', 'anyone')
const bob: Id = { scheme: 'digest', id: 'bob:ikIaKsbtGweaHnb/jKn7OHqbunM=' }
const local: Id = { scheme: 'ip', id: '127.0.0.1' }
const { read, write, admin } = permissions

// --- who may do what -----------------------------------------------------------------------------

function may(acl: readonly Acl[], perms: number, who: readonly Id[], by = rules): boolean {
  return allows(by, new AclTable().intern(acl), perms, who)
}

test('permissions of the world are everybody’s', () => {
  expect(may([entry('world', 'anyone', read)], read, [])).toBe(true)
  expect(may([entry('world', 'anyone', read)], write, [])).toBe(false)
})

test('an identity matches entries of its own scheme only', () => {
  const acl = [entry(bob.scheme, bob.id, write)]
  expect(may(acl, write, [local, bob])).toBe(true)
  expect(may(acl, read, [bob])).toBe(false)
  expect(may(acl, write, [local])).toBe(false)
  expect(may(acl, write, [{ scheme: 'ip', id: bob.id }])).toBe(false)
})

test('one shared bit is enough', () => {
  expect(may([entry('world', 'anyone', admin)], read | admin, [])).toBe(true)
})

test('if each bit is required, all must be granted, by any entries', () => {
  const acl = new AclTable().intern([
    entry('world', 'anyone', read),
    entry(bob.scheme, bob.id, write),
  ])
  expect(grantsEach(acl, read | write, [bob])).toBe(false)
  expect(grantsEach(acl, write, [bob])).toBe(true)
  expect(grantsEach(acl, write, [])).toBe(false)
  expect(grantsEach(acl, read | admin, [bob])).toBe(false)
})

test('an address is in the network of an entry, or not', () => {
  expect(may([entry('ip', '127.0.0.0/8')], read, [local])).toBe(true)
  expect(may([entry('ip', '10.0.0.0/8')], read, [local])).toBe(false)
  expect(may([entry('ip', '::1')], read, [local])).toBe(false)
})

test('the super user may do anything', () => {
  expect(may([entry(bob.scheme, bob.id, 0)], write, [{ scheme: 'super', id: '' }])).toBe(true)
})

test('an entry of scheme world with another id grants nothing', () => {
  expect(may([entry('world', 'somebody')], read, [local])).toBe(false)
})

test('an empty list, or ACLs switched off, allow everything', () => {
  expect(may([], write, [])).toBe(true)
  expect(may([entry(bob.scheme, bob.id)], write, [], { ...rules, skipAcl: true })).toBe(true)
})

// --- what is stored ------------------------------------------------------------------------------

const { invalidAcl, marshallingError } = errorCodes

test.each<[what: string, acl: Acl[] | null, error: number]>([
  ['no list', null, invalidAcl],
  ['an empty list', [], invalidAcl],
  ['no scheme', [entry(null, 'x')], invalidAcl],
  ['an empty scheme', [entry('', 'x')], invalidAcl],
  ['the world as somebody', [entry('world', 'somebody')], invalidAcl],
  ['the world as null', [entry('world', null)], marshallingError],
  ['a scheme that nobody provides', [entry('sasl', 'bob')], invalidAcl],
  ['the super user', [entry('super', '')], invalidAcl],
  ['a digest without a hash', [entry('digest', 'a')], invalidAcl],
  ['a digest with an empty hash', [entry('digest', 'a:')], invalidAcl],
  ['a digest of three parts', [entry('digest', 'a:b:c')], invalidAcl],
  ['a digest of null', [entry('digest', null)], marshallingError],
  ['an address that is none', [entry('ip', '1.2.3')], invalidAcl],
  ['a network too narrow', [entry('ip', '1.2.3.4/33')], invalidAcl],
  ['a good entry and a bad one', [world, entry('digest', 'a')], invalidAcl],
])('%s is refused', (_what, acl, error) => {
  expect(fixAcl(rules, acl, [bob])).toBe(error)
})

test.each([
  world,
  entry('digest', 'a:b'),
  entry('digest', ':x'),
  entry('ip', '1.2.3.4'),
  entry('ip', '1.2.3.0/24'),
  entry('ip', '2001:db8::/32'),
  entry('world', 'anyone', 0),
  entry('world', 'anyone', 64),
  entry('world', 'anyone', -1),
])('$id.scheme:$id.id with $perms is kept as it is', (given) => {
  expect(fixAcl(rules, [given], [])).toEqual([given])
})

test('auth stands for every identity that authenticates', () => {
  const alice: Id = { scheme: 'digest', id: 'alice:h' }
  const superUser: Id = { scheme: 'super', id: '' }
  expect(fixAcl(rules, [entry('auth', 'ignored', read)], [local, bob, superUser, alice])).toEqual([
    { perms: read, id: bob },
    { perms: read, id: alice },
  ])
})

test('auth is refused if it would expand to more than can be read again', () => {
  const acl = [entry('auth', '', read), entry('auth', '')]
  expect(fixAcl(rules, acl, [bob], { bytesLeft: 200 })).toHaveLength(2)
  const growth = { bytesLeft: 50 }
  expect(fixAcl(rules, acl, [bob], growth)).toBe(invalidAcl)
  expect(fixAcl(rules, [entry('auth', '')], [bob], growth)).toBe(invalidAcl)
  expect(fixAcl(rules, [world], [bob], growth)).toEqual([world])
})

test('auth without such an identity is refused', () => {
  expect(fixAcl(rules, [entry('auth', '')], [local])).toBe(invalidAcl)
  expect(fixAcl(rules, [entry('auth', '')], [{ scheme: 'sasl', id: 'bob' }])).toBe(invalidAcl)
})

test('exact duplicates are dropped, also before auth is replaced', () => {
  expect(fixAcl(rules, [world, entry('ip', '1.1.1.1'), world], [])).toEqual([
    world,
    entry('ip', '1.1.1.1'),
  ])
  expect(fixAcl(rules, [entry('auth', ''), entry('auth', '')], [bob])).toEqual([
    { perms: 31, id: bob },
  ])
})

test('entries that differ only in permissions are both kept', () => {
  const acl = [entry('world', 'anyone', read), entry('world', 'anyone', write)]
  expect(fixAcl(rules, acl, [])).toEqual(acl)
})

test('a list as long as a frame can hold takes no noticeable time', () => {
  const acl = Array.from({ length: 45_000 }, (_, perms) => entry('world', 'anyone', perms))
  expect(fixAcl(rules, acl, [])).toHaveLength(45_000)
}, 2000)

// --- what is shown -------------------------------------------------------------------------------

test('password hashes are masked, nothing else is', () => {
  const acl = [entry('digest', 'bob:secret', 1), entry('digest', 'odd', 2), world]
  const masked = [entry('digest', 'bob:x', 1), entry('digest', 'odd', 2), world]
  expect(maskAcl(acl)).toEqual(masked)
  expect(maskAcl([entry('digest', ':h'), entry('ip', '::1')])).toEqual([
    entry('digest', ':x'),
    entry('ip', '::1'),
  ])
})
