import type { Acl, Id } from '@zabra/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AclTable } from './acl-table.ts'
import { Grants, indexedLengthMin } from './grants.ts'
import { allows } from './permission.ts'

const rules = { skipAcl: false, schemes: new Set(['digest', 'ip']) }
const octet = fc.constantFrom(0, 1, 127, 128, 255)
const v4 = fc.tuple(octet, octet, octet, octet).map((bytes) => bytes.join('.'))
const v6 = fc.tuple(octet, octet).map(([a, b]) => `fe80::${a.toString(16)}:${b.toString(16)}`)
const network = fc
  .tuple(fc.oneof(v4, v6), fc.option(fc.integer({ min: 0, max: 32 })))
  .map(([address, bits]) => (bits === null ? address : `${address}/${bits}`))
const ipId = network.map((id): Id => ({ scheme: 'ip', id }))
const otherId = fc.record({
  scheme: fc.constantFrom('digest', 'x509', 'auth'),
  id: fc.constantFrom('a:1', 'b:2', 'c:3', '', null),
})
const perms = fc.integer({ min: 0, max: 31 })
const entry = fc
  .tuple(perms, fc.oneof(ipId, otherId))
  .map(([granted, id]): Acl => ({ perms: granted, id }))
const identity = fc.oneof(
  fc.oneof(v4, v6).map((id): Id => ({ scheme: 'ip', id })),
  otherId,
)

test('a long list grants what its entries grant one by one', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 12 }),
      fc.array(identity),
      perms,
      (acl, who, asked) => {
        const one = new AclTable().intern(
          acl.length > 0 ? acl : [{ perms: 0, id: { scheme: 'x', id: '' } }],
        )
        expect(new Grants(acl).allow(asked, who)).toBe(
          acl.length > 0 && allows(rules, one, asked, who),
        )
      },
    ),
  )
})

test('a check of many identities against a list of tens of thousands looks each of them up once', () => {
  const acl = Array.from({ length: 40_000 }, (_, i): Acl => ({
    perms: 1,
    id: { scheme: 'digest', id: `${i}:h` },
  }))
  expect(acl.length).toBeGreaterThan(indexedLengthMin)
  const table = new AclTable()
  const long = table.intern(acl)
  const identities = Array.from({ length: 250 }, (_, i): Id => ({
    scheme: 'digest',
    id: `other-${i}:h`,
  }))
  // Comparing each entry with each identity would be ten billion comparisons.
  for (let i = 0; i < 1000; i++) expect(allows(rules, long, 1, identities)).toBe(false)
  expect(allows(rules, long, 1, [...identities, { scheme: 'digest', id: '39999:h' }])).toBe(true)
  expect(allows(rules, long, 2, [{ scheme: 'digest', id: '39999:h' }])).toBe(false)
})
