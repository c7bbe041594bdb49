import { expect, test } from 'vitest'
import { formatServer, parseServers } from './server-list.ts'

test('servers and a chroot are read from one string', () => {
  expect(parseServers('a:1, b ,[::1]:3/app/x')).toEqual({
    servers: [
      { host: 'a', port: 1 },
      { host: 'b', port: 2181 },
      { host: '::1', port: 3 },
    ],
    chroot: '/app/x',
  })
})

test('a chroot of / is none', () => {
  expect(parseServers('a/').chroot).toBe('')
})

test('a list may be given, with the chroot at its end', () => {
  expect(parseServers(['a:1', 'b:2/c'])).toMatchObject({ chroot: '/c', servers: { length: 2 } })
})

test.each(['', '/app', 'a:x', 'a:0', 'a:70000', 'a:1:2'])('%j is refused', (text) => {
  expect(() => parseServers(text)).toThrow(TypeError)
})

test('an IPv6 address is written in brackets', () => {
  expect(formatServer({ host: '::1', port: 3 })).toBe('[::1]:3')
})
