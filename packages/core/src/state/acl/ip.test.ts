import { BlockList, isIP, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isInNetwork, parseAddress, parseNetwork } from './ip.ts'

test('an IPv4 address is four bytes, an IPv6 address sixteen', () => {
  expect(parseAddress('10.0.255.1')).toEqual([10, 0, 255, 1])
  expect(parseAddress('::1')).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
  expect(parseAddress('2001:db8::ff00:42:8329')).toEqual([
    0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0x42, 0x83, 0x29,
  ])
  expect(parseAddress('::ffff:1.2.3.4')?.slice(10)).toEqual([255, 255, 1, 2, 3, 4])
})

const nonsense = [
  '',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '1.2.3.x',
  '1.2.3.-4',
  ' 1.2.3.4',
  '1..2.3',
]
const nonsenseV6 = [
  ':',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '12345::',
  'g::',
  '1.2.3.4::',
  '::1.2.3',
]

test.each([...nonsense, ...nonsenseV6])('%j is not an address', (text) => {
  expect(parseAddress(text)).toBeUndefined()
})

test('accepts the addresses that Node accepts, and no others', () => {
  const part = fc.constantFrom('0', '1', 'ff', 'abcd', '12345', '', '.', ':', '::', '1.2.3.4', '/')
  const text = fc.oneof(
    fc.array(part, { maxLength: 9 }).map((parts) => parts.join(':')),
    fc.array(part, { maxLength: 5 }).map((parts) => parts.join('')),
    fc.ipV6(),
    fc.ipV4(),
  )
  // Without leading zeros, which Node refuses and Apache reads as decimal.
  const plain = text.filter((address) => !/(^|[.:])0\d/.test(address))
  fc.assert(
    fc.property(plain, (address) => {
      expect(parseAddress(address)?.length).toBe({ 0: undefined, 4: 4, 6: 16 }[isIP(address)])
    }),
    { numRuns: 1000 },
  )
})

test.each(['1.2.3.4/33', '1.2.3.4/-1', '1.2.3.4/', '1.2.3.4/x', '::1/129', '/8', '1.2.3.4/8/8'])(
  '%j is no network',
  (text) => {
    expect(parseNetwork(text)).toBeUndefined()
  },
)

test('a network without a length is one address', () => {
  expect(isInNetwork('10.1.2.3', '10.1.2.3')).toBe(true)
  expect(isInNetwork('10.1.2.4', '10.1.2.3')).toBe(false)
  expect(isInNetwork('::1', '0:0:0:0:0:0:0:1')).toBe(true)
})

test('only the leading bits count', () => {
  expect(isInNetwork('10.1.2.3', '10.0.0.0/8')).toBe(true)
  expect(isInNetwork('11.1.2.3', '10.0.0.0/8')).toBe(false)
  expect(isInNetwork('10.127.255.255', '10.64.0.0/10')).toBe(true)
  expect(isInNetwork('10.128.0.0', '10.64.0.0/10')).toBe(false)
  expect(isInNetwork('1.2.3.4', '0.0.0.0/0')).toBe(true)
  expect(isInNetwork('2001:db8::1', '2001:db8::/32')).toBe(true)
  expect(isInNetwork('2001:db9::1', '2001:db8::/32')).toBe(false)
})

test('families do not mix', () => {
  expect(isInNetwork('1.2.3.4', '::/0')).toBe(false)
  expect(isInNetwork('::1', '0.0.0.0/0')).toBe(false)
})

test('an invalid address or network matches nothing', () => {
  expect(isInNetwork('nobody', '0.0.0.0/0')).toBe(false)
  expect(isInNetwork('1.2.3.4', 'anywhere')).toBe(false)
})

test('membership is what Node computes', () => {
  const v4 = fc.tuple(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }))
  const v6 = fc.tuple(fc.ipV6(), fc.ipV6(), fc.integer({ min: 0, max: 128 }))
  fc.assert(
    fc.property(fc.oneof(v4, v6), ([address, network, bits]) => {
      const family = isIPv6(network) ? 'ipv6' : 'ipv4'
      const list = new BlockList()
      list.addSubnet(network, bits, family)
      expect(isInNetwork(address, `${network}/${bits}`)).toBe(list.check(address, family))
      expect(isInNetwork(network, `${network}/${bits}`)).toBe(true)
    }),
    { numRuns: 300 },
  )
})
