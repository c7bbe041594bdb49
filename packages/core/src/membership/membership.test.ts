import { expect, test } from 'vitest'
import {
  formatMembership,
  parseMembership,
  sameMembership,
  verifierOf,
  type Membership,
} from './membership.ts'

function parse(text: string): Membership {
  const parsed = parseMembership(text)
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const three = `server.1=127.0.0.1:28881:38881:participant
server.2=127.0.0.1:28882:38882:participant
server.3=127.0.0.1:28883:38883:observer;0.0.0.0:2183
version=100000008`

test('a configuration is read and written in the format of Apache', () => {
  const membership = parse(three)
  expect(membership.version).toBe(0x1_0000_0008n)
  expect([...membership.servers.keys()]).toEqual([1n, 2n, 3n])
  expect(membership.servers.get(3n)).toMatchObject({ role: 'observer', client: { port: 2183 } })
  expect(formatMembership(membership)).toBe(three)
})

test('groups and weights are kept', () => {
  const text = `server.1=a:1:2:participant
server.2=b:1:2:participant
group.1=1:2
weight.2=0
version=0`
  expect(formatMembership(parse(text))).toBe(text)
})

test('omitted parts are written out, and the order does not matter', () => {
  const text = 'version=AB\nserver.10=[::1]:1:2\nserver.9 = b:1:2;2181'
  expect(formatMembership(parse(text))).toBe(
    'server.9=b:1:2:participant;0.0.0.0:2181\nserver.10=[0:0:0:0:0:0:0:1]:1:2:participant\nversion=ab',
  )
})

test('a missing version is version 0, and a negative one survives', () => {
  expect(parse('server.1=a:1:2').version).toBe(0n)
  const negative = parse('server.1=a:1:2:participant\nversion=ffffffffffffffff')
  expect(negative.version).toBe(-1n)
  expect(formatMembership(negative)).toMatch(/version=ffffffffffffffff$/)
})

test.each([
  ['an unknown key', 'server.1=a:1:2\nclientPort=2181', /no place here/],
  ['an id that is no number', 'server.x=a:1:2', /no place here/],
  ['a version that is no number', 'server.1=a:1:2\nversion=0x1', /not a version/],
  ['one port for two purposes', 'server.1=a:1:1', /server\.1: .*must differ/],
  ['a server in no group', 'server.1=a:1:2\nserver.2=b:1:2\ngroup.1=1', /server\.2 .* in 0/],
  ['a server in two groups', 'server.1=a:1:2\ngroup.1=1\ngroup.2=1', /server\.1 .* in 2/],
  ['a weight that is no number', 'server.1=a:1:2\ngroup.1=1\nweight.1=x', /not a list/],
  ['a broken escape', 'server.1=\\u12', /escape/],
])('%s makes it invalid', (_, text, problem) => {
  expect(parseMembership(text)).toEqual({ problem: expect.stringMatching(problem) })
})

test('configurations are the same by version, or by content', () => {
  const one = parse(three)
  const renumbered = parse(three.replace('version=100000008', 'version=9'))
  const moved = three.replace('38881', '48881')
  const promoted = three.replace('observer', 'participant')
  expect(sameMembership(one, renumbered)).toBe(true)
  expect(sameMembership(one, parse(moved))).toBe(true)
  for (const text of [moved, promoted, three.replace(';0.0.0.0:2183', '')]) {
    expect(sameMembership(renumbered, parse(text))).toBe(false)
  }
  const servers = 'server.1=a:1:2\nserver.2=b:1:2\n'
  const grouped = parse(`${servers}group.1=1:2\nversion=1`)
  expect(sameMembership(grouped, parse(`${servers}group.1=2:1\nweight.1=1\nversion=2`))).toBe(true)
  expect(sameMembership(grouped, parse(`${servers}group.1=2:1\nweight.1=2\nversion=2`))).toBe(false)
  expect(sameMembership(grouped, parse(`${servers}version=2`))).toBe(false)
})

test('participants vote, observers do not', () => {
  const verifier = verifierOf(parse(three))
  expect(verifier.version).toBe(0x1_0000_0008n)
  expect([...verifier.voters]).toEqual([1n, 2n])
  expect([...verifier.observers]).toEqual([3n])
  expect(verifier.isQuorum(new Set([1n, 3n]))).toBe(false)
  const weighted = verifierOf(parse('server.1=a:1:2\nserver.2=b:1:2\ngroup.1=1:2\nweight.1=3'))
  expect(weighted.isQuorum(new Set([1n]))).toBe(true)
})
