import { getCiphers } from 'node:tls'

/** How the part after `WITH` in Java's names differs from OpenSSL's. */
const bulk: readonly (readonly [RegExp, string])[] = [
  [/^(AES|CAMELLIA|ARIA)_(128|192|256)_CBC_(SHA\d*)$/, '$1$2-$3'],
  [/^(AES|CAMELLIA|ARIA)_(128|192|256)_(GCM|CCM)_(SHA\d+)$/, '$1$2-$3-$4'],
  [/^(AES|ARIA)_(128|256)_CCM$/, '$1$2-CCM'],
  [/^CHACHA20_POLY1305_SHA256$/, 'CHACHA20-POLY1305'],
  [/^3DES_EDE_CBC_SHA$/, 'DES-CBC3-SHA'],
  [/^NULL_(SHA\d*)$/, 'NULL-$1'],
]

/** Signals of old protocols, which Java lists among the cipher suites. */
const signals = new Set(['TLS_EMPTY_RENEGOTIATION_INFO_SCSV', 'TLS_FALLBACK_SCSV'])

/**
 * OpenSSL's name of a cipher suite, which may be given by Java's name; undefined if this Node.js
 * does not have it. A signal that is no suite has an empty name.
 */
export function openSslCipher(name: string): string | undefined {
  if (signals.has(name)) return ''
  const known = new Map(getCiphers().map((each) => [each.toUpperCase(), each]))
  const isThere = (candidate: string): string | undefined =>
    known.has(candidate.toUpperCase()) ? candidate : undefined
  // Suites of TLS 1.3 have the same name everywhere.
  if (isThere(name) !== undefined) return name
  const [, exchange = '', cipher = ''] = /^(?:TLS|SSL)_(.+)_WITH_(.+)$/.exec(name) ?? []
  const [pattern, replacement = ''] = bulk.find(([each]) => each.test(cipher)) ?? []
  if (pattern === undefined) return undefined
  const tail = cipher.replace(pattern, replacement)
  // OpenSSL's names leave plain RSA out.
  const head = exchange === 'RSA' ? [] : exchange.replace('DH_anon', 'ADH').split('_')
  return isThere([...head, tail].join('-'))
}
