import { readFileSync } from 'node:fs'
import { createPublicKey } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreError, type Store } from './key-material.ts'
import { readStore, storeTypeOf } from './read-store.ts'

/** Made by OpenSSL 3.0 and keytool 17, from the key and the certificates of server.pem. */
const file = (name: string): Uint8Array =>
  readFileSync(new URL(`testdata/${name}`, import.meta.url))
const password = 'secret-1'

function read(name: string, secret = password, bytes = file(name)): Store {
  return readStore(bytes, { type: storeTypeOf(name, undefined), password: secret, location: name })
}

const spki = { type: 'spki', format: 'pem' } as const

test.each([
  ['server.pem', ''],
  ['server-encrypted.pem', password],
  ['openssl-aes.p12', password],
  ['openssl-mixed.p12', password],
  ['openssl-plain.p12', password],
  ['openssl-nomac.p12', password],
  ['openssl-3des.p12', password],
  ['openssl-rc2.p12', password],
  ['openssl-rc2-128.p12', password],
  ['java.p12', password],
  ['java-legacy.p12', password],
  ['java.jks', password],
])('%s holds the key and the chain of its certificate', (name, secret) => {
  const { keys } = read(name, secret)
  expect(keys).toHaveLength(1)
  const [{ key, chain }] = keys as [(typeof keys)[0]]
  expect(chain.map(({ subject }) => subject)).toEqual([
    'O=zabra\nCN=server',
    'O=zabra\nCN=Fixture CA',
  ])
  expect(createPublicKey(key).export(spki)).toBe(chain[0]!.publicKey.export(spki))
})

test('passwords may contain any letters', () => {
  expect(read('openssl-unicode.p12', 'pä55-€').keys).toHaveLength(1)
})

test.each(['ca.pem', 'java-trust.p12', 'java-trust.jks', 'openssl-trust.p12'])(
  '%s holds a certificate that is trusted',
  (name) => {
    expect(read(name).trusted.map(({ subject }) => subject)).toEqual(['O=zabra\nCN=Fixture CA'])
  },
)

test('the issuers of a key are not automatically trusted', () => {
  expect(read('openssl-aes.p12').trusted).toEqual([])
})

test('certificates of a JKS store can be read without its password, as in Java', () => {
  expect(read('java-trust.jks', '').trusted).toHaveLength(1)
})

test.each([
  ['openssl-aes.p12', 'wrong', /the password does not fit/],
  ['openssl-rc2.p12', 'wrong', /the password does not fit/],
  ['openssl-nomac.p12', 'wrong', /the password does not fit/],
  ['java.jks', 'wrong', /the password does not fit/],
  ['java.jks', '', /the password of the store does not fit its key/],
  ['server-encrypted.pem', 'wrong', /its private key cannot be read: the password does not fit/],
  ['server-encrypted.pem', '', /it is encrypted, and no password is given/],
  ['java-jceks.jks', password, /JCEKS.*keytool -importkeystore -srckeystore java-jceks.jks/],
  ['openssl-rc4.p12', password, /rc4.*openssl pkcs12 -legacy -in openssl-rc4.p12/],
])('%s with the password "%s" is refused', (name, secret, why) => {
  expect(() => read(name, secret)).toThrow(StoreError)
  expect(() => read(name, secret)).toThrow(why)
})

test('a PKCS12 store may be called .jks, as since Java 9', () => {
  const store = readStore(file('java.p12'), { type: 'JKS', password, location: 'x.jks' })
  expect(store.keys).toHaveLength(1)
})

test('the type is configured, or follows from the file name', () => {
  expect(storeTypeOf('a/b.pfx', undefined)).toBe('PKCS12')
  expect(storeTypeOf('a.b/c', 'pem')).toBe('PEM')
  expect(() => storeTypeOf('a.b/c', undefined)).toThrow(/its type must be configured/)
  expect(() => storeTypeOf('c.bcfks', undefined)).toThrow(/BCFKS/)
  expect(() => storeTypeOf('c', 'X')).toThrow(/X is no type of a store/)
})

test.each(['openssl-rc2.p12', 'openssl-nomac.p12', 'java.jks', 'java-trust.jks', 'server.pem'])(
  '%s, damaged anywhere, is refused by a sentence or read',
  (name) => {
    const whole = file(name)
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(3), (at, byte, kind) => {
        const bytes = Buffer.from(whole)
        bytes[at] = byte
        const damaged = kind === 0 ? bytes.subarray(0, at) : bytes
        try {
          // An empty password skips the checks that would find most damage.
          read(name, kind === 1 ? '' : password, damaged)
        } catch (error) {
          if (!(error instanceof StoreError)) throw error
        }
      }),
      { numRuns: 200 },
    )
  },
)
