import { describe, expect, test } from 'vitest'
import { LonePeer } from '../../test/support/lone-peer.ts'
import { Guesses } from './guesses.ts'

const options = { burst: 3, intervalMs: 1000, waitMsMax: 2500 }

describe('attempts', () => {
  test('are free until too many were wrong, then come one after the other, then not at all', () => {
    const guesses = new Guesses(options)
    for (let i = 0; i < 4; i++) {
      expect(guesses.waitMs('10.0.0.1', 0)).toBe(0)
      guesses.failed('10.0.0.1', 0)
    }
    expect([1, 2, 3].map(() => guesses.waitMs('10.0.0.1', 0))).toEqual([1000, 2000, undefined])
    expect(guesses.waitMs('10.0.0.2', 0)).toBe(0)
    expect(guesses.waitMs('10.0.0.1', 6000)).toBe(0)
    expect(guesses.failures).toBe(4)
  })

  test('from one IPv6 network count together', () => {
    const guesses = new Guesses(options)
    for (let i = 0; i < 4; i++) guesses.failed(`fe80::${i}`, 0)
    expect(guesses.waitMs('fe80::99', 0)).toBe(1000)
    expect(guesses.waitMs('fe80:0:0:1::1', 0)).toBe(0)
  })

  test('from ever new addresses cost little memory', () => {
    const guesses = new Guesses(options)
    for (let i = 0; i < 30_000; i++) guesses.failed(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, i)
    expect((guesses as unknown as { usedUntilMs: Map<string, number> }).usedUntilMs.size).toBe(
      10_000,
    )
  })
})

describe('a client that guesses the password of the super user', () => {
  const right = Buffer.from('super:right')
  const schemes = new Set(['digest'])
  const authenticator = {
    schemes,
    isGuarded: (_: string, token: Uint8Array | null) =>
      Buffer.from(token ?? [])
        .toString()
        .startsWith('super:'),
    authenticate: (_: string, token: Uint8Array | null) => {
      const text = Buffer.from(token ?? []).toString()
      const own = { scheme: 'digest', id: text }
      return right.equals(token ?? new Uint8Array(0)) ? [{ scheme: 'super', id: '' }, own] : [own]
    },
  }
  const guess = (password: string) => ({ type: 0, scheme: 'digest', auth: Buffer.from(password) })

  test('waits longer and longer, and no other client does', () => {
    const server = new LonePeer({}, { authenticator })
    const client = server.connect('10.0.0.1')
    let answered = 0
    for (let i = 0; i < 60; i++) {
      client.send('auth', guess(`super:${i}`))
      answered += client.take().length
    }
    expect(answered).toBe(11)
    expect(client.isPaused).toBe(true)
    const other = server.connect('10.0.0.1')
    expect(other.call('auth', guess('ann:secret'))).toBe(0)
    expect(other.call('getData', { path: '/', watch: false })).toBe(0)
    for (let i = 0; i < 5; i++) {
      server.passTime(1000)
      answered += client.take().length
    }
    expect(answered).toBeGreaterThan(13)
    expect(answered).toBeLessThan(18)
    const { failedGuesses, limitsReached } = server.peer.stats
    expect(failedGuesses).toBe(answered)
    expect(limitsReached.password_guesses).toBeGreaterThan(2)
  })

  test('does not keep out who knows it, at the same address', () => {
    const server = new LonePeer({}, { authenticator })
    const [thief, admin] = [server.connect('10.0.0.1'), server.connect('10.0.0.1')]
    for (let i = 0; i < 30; i++) thief.send('auth', guess(`super:${i}`))
    admin.send('auth', { type: 0, scheme: 'digest', auth: right })
    for (let i = 0; i < 4; i++) server.passTime(1000)
    expect(admin.connection.identities.map(({ scheme }) => scheme)).toContain('super')
    expect(admin.isPaused).toBe(false)
    expect(admin.call('getData', { path: '/', watch: false })).toBe(0)
  })
})

test('a wrong password of a session is counted', () => {
  const server = new LonePeer()
  const victim = server.connect()
  const thief = server.connect()
  server.peer.closed(thief.connection)
  const { sessionId } = victim.connection
  const stranger = new (thief.constructor as { new (s: LonePeer, a: string): typeof thief })(
    server,
    '10.0.0.9',
  )
  stranger.greet({ timeOut: 4000, sessionId, passwd: new Uint8Array(16) })
  expect(stranger.connection.state).toBe('closed')
  expect(victim.connection.state).toBe('open')
  expect(server.peer.stats.failedGuesses).toBe(1)
})
