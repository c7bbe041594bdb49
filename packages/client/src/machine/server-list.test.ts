import { expect, test } from 'vitest'
import { formatServer, parseOtherServers, parseServers } from './server-list.ts'

test('servers and a chroot are parsed from one string', () => {
  expect(parseServers('a:1, b ,[::1]:3/app/x')).toEqual({
    servers: [
      { host: 'a', port: 1 },
      { host: 'b', port: 2181 },
      { host: '::1', port: 3 },
    ],
    chroot: '/app/x',
  })
})

test('a chroot of / means none', () => {
  expect(parseServers('a/').chroot).toBe('')
})

test('an array is accepted, with the chroot at its end', () => {
  expect(parseServers(['a:1', 'b:2/c'])).toMatchObject({ chroot: '/c', servers: { length: 2 } })
})

test.each(['', '/app', 'a:x', 'a:0', 'a:70000', 'a:1:2'])('%j is refused', (text) => {
  expect(() => parseServers(text)).toThrow(TypeError)
})

test.each([['a:1/app,b:2/app'], ['a:1/app,b:2'], [['a:1/app', 'b/app']]])(
  'a chroot after each server is refused: %j',
  (servers) => {
    expect(() => parseServers(servers)).toThrow('a chroot comes once, after the last server')
  },
)

test('a comma may be part of a chroot', () => {
  expect(parseServers('a:1/x,y').chroot).toBe('/x,y')
})

test('an IPv6 address is written in brackets', () => {
  expect(formatServer({ host: '::1', port: 3 })).toBe('[::1]:3')
})

test.each([7, undefined, null, {}, [1], [undefined]])('%j is no string, and refused', (value) => {
  const sentence = /^servers are 'host:port,host:port\/chroot' or a list, not /
  expect(() => parseServers(value as unknown as string)).toThrow(sentence)
})

test('a new list comes without a chroot, or with that of the client', () => {
  const servers = [{ host: 'b', port: 1 }]
  expect(parseOtherServers('b:1', '/app')).toEqual(servers)
  expect(parseOtherServers(['b:1/app/'], '/app')).toEqual(servers)
  expect(parseOtherServers('b:1/', '')).toEqual(servers)
  expect(() => parseOtherServers('b:1/other', '/app')).toThrow(
    "a client stays below its chroot, '/app': '/other' is another",
  )
  expect(() => parseOtherServers('b:1/app', '')).toThrow(TypeError)
})
