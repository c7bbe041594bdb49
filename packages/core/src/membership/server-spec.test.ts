import { expect, test } from 'vitest'
import { formatServerSpec, parseServerSpec } from './server-spec.ts'

test('a plain line is a participant without a client port', () => {
  expect(parseServerSpec('zoo1:2888:3888')).toEqual({
    value: {
      addresses: [{ host: 'zoo1', quorumPort: 2888, electionPort: 3888 }],
      role: 'participant',
      client: undefined,
      secureClient: undefined,
    },
  })
})

test('role, client address and client port can follow', () => {
  expect(parseServerSpec('zoo2:2888:3888:observer;10.0.0.2:2181')).toMatchObject({
    value: { role: 'observer', client: { host: '10.0.0.2', port: 2181 } },
  })
  expect(parseServerSpec('zoo2:2888:3888;2181;2182')).toMatchObject({
    value: { client: { host: undefined, port: 2181 }, secureClient: { port: 2182 } },
  })
})

test('IPv6 addresses are in brackets', () => {
  expect(parseServerSpec('[2001:db8::1]:2888:3888;[::]:2181')).toMatchObject({
    value: {
      addresses: [{ host: '2001:db8::1', quorumPort: 2888, electionPort: 3888 }],
      client: { host: '::', port: 2181 },
    },
  })
})

test('several addresses are joined by a bar', () => {
  expect(parseServerSpec('a:2888:3888|b:2889:3889')).toMatchObject({
    value: { addresses: [{ host: 'a' }, { host: 'b', quorumPort: 2889 }] },
  })
})

test.each([
  ['host', /expected host:quorumPort/],
  ['host:2888', /election port is missing/],
  ['host:2888:x', /"x" is not a port/],
  ['host:2888:70000', /"70000" is not a port/],
  ['host:2888:2888', /must differ/],
  ['host:2888:3888:leader', /is no role/],
  ['host:2888:3888;abc', /after the semicolon/],
  [':2888:3888', /expected host:quorumPort/],
])('%s is refused', (text, problem) => {
  expect(parseServerSpec(text)).toMatchObject({ problem: expect.stringMatching(problem) })
})

test.each([
  ['zoo1:2888:3888', 'zoo1:2888:3888:participant'],
  ['zoo1:2888:3888:observer;2181', 'zoo1:2888:3888:observer;0.0.0.0:2181'],
  [
    '[::1]:2888:3888;[::]:2181;10.0.0.1:2182',
    '[0:0:0:0:0:0:0:1]:2888:3888:participant;[0:0:0:0:0:0:0:0]:2181;10.0.0.1:2182',
  ],
  ['a:1:2;;2182', 'a:1:2:participant;;0.0.0.0:2182'],
  ['a:1:2|b:1:2:observer', 'a:1:2|b:1:2:observer'],
])('%s is written out as %s', (text, expected) => {
  const parsed = parseServerSpec(text)
  expect('value' in parsed && formatServerSpec(parsed.value)).toBe(expected)
})
