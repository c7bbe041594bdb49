import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { digestMd5 } from './digest-md5.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)
const hex = (data: string | Uint8Array): string => createHash('md5').update(data).digest('hex')
const challenge = 'realm="zk-sasl-md5",nonce="OA6MG9tEQGm2hh",charset=utf-8,algorithm=md5-sess'

/** The formulas of RFC 2831, section 2.1.2.1. */
function proof(user: string, password: string, a2: string): string {
  // In ISO 8859-1 if that has all the letters.
  const encoding =
    Buffer.from(password, 'latin1').toString('latin1') === password ? 'latin1' : 'utf8'
  const inner = createHash('md5').update(`${user}:zk-sasl-md5:${password}`, encoding).digest()
  const a1 = hex(Buffer.concat([inner, Buffer.from(':OA6MG9tEQGm2hh:OA6MHXh6VqTrRk')]))
  return hex(`${a1}:OA6MG9tEQGm2hh:00000001:OA6MHXh6VqTrRk:auth:${hex(a2)}`)
}

test('a challenge is answered with the proof of RFC 2831', () => {
  const exchange = digestMd5({ username: 'bob', password: 'pw', cnonce: 'OA6MHXh6VqTrRk' })
  expect(exchange.first).toHaveLength(0)
  const answer = Buffer.from(exchange.answer(bytes(challenge))!).toString()
  expect(answer).toContain('username="bob",realm="zk-sasl-md5",nonce="OA6MG9tEQGm2hh"')
  expect(answer).toContain(
    `response=${proof('bob', 'pw', 'AUTHENTICATE:zookeeper/zk-sasl-md5')},qop=auth`,
  )
  const rspauth = proof('bob', 'pw', ':zookeeper/zk-sasl-md5')
  expect(exchange.answer(bytes(`rspauth=${rspauth}`))).toBeUndefined()
})

test('a server that does not know the password is detected', () => {
  const exchange = digestMd5({ username: 'bob', password: 'pw' })
  exchange.answer(bytes(challenge))
  expect(() => exchange.answer(bytes('rspauth=00000000000000000000000000000000'))).toThrow('prove')
})

test('names with quotes are written as the RFC requires', () => {
  const exchange = digestMd5({ username: 'a"b', password: 'pw' })
  expect(Buffer.from(exchange.answer(bytes(challenge))!).toString()).toContain('username="a\\"b"')
})

test.each(['geheim-ä', 'пароль'])('%s is hashed as Java hashes it', (password) => {
  const exchange = digestMd5({ username: 'bob', password, cnonce: 'OA6MHXh6VqTrRk' })
  const answer = Buffer.from(exchange.answer(bytes(challenge))!).toString()
  expect(answer).toContain(
    `response=${proof('bob', password, 'AUTHENTICATE:zookeeper/zk-sasl-md5')},qop=auth`,
  )
})
