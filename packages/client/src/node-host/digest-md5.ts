import { createHash, randomBytes } from 'node:crypto'
import { decodeText, encodeText } from '@zabra/protocol'
import type { SaslExchange } from '../machine/sasl.ts'

const protocol = 'zookeeper'
const defaultRealm = 'zk-sasl-md5'
const nonceCount = '00000001'
const digestUri = `${protocol}/${defaultRealm}`

export interface DigestMd5Options {
  readonly username: string
  readonly password: string
  /** Random, except in tests. */
  readonly cnonce?: string
}

/** The client's side of SASL DIGEST-MD5 (RFC 2831), with quality of protection `auth`. */
export function digestMd5(options: DigestMd5Options): SaslExchange {
  const { username, password } = options
  const cnonce = options.cnonce ?? randomBytes(24).toString('base64')
  let expectedProof: string | undefined
  return {
    first: new Uint8Array(0),
    answer(challenge) {
      const said = parseDirectives(decodeText(challenge))
      if (expectedProof !== undefined) {
        if (said.get('rspauth') !== expectedProof)
          throw new Error('the server could not prove that it knows the password')
        return undefined
      }
      const nonce = said.get('nonce')
      if (nonce === undefined) throw new Error('a challenge without a nonce')
      const realm = said.get('realm') ?? defaultRealm
      const secret = Buffer.concat([
        md5(Buffer.concat([`${username}:`, `${realm}:`, password].map(hashedText))),
        encodeText(`:${nonce}:${cnonce}`),
      ])
      const proof = (a2: string): string =>
        hex(`${hex(secret)}:${nonce}:${nonceCount}:${cnonce}:auth:${hex(a2)}`)
      expectedProof = proof(`:${digestUri}`)
      return encodeText(
        [
          'charset=utf-8',
          `username="${quoted(username)}"`,
          `realm="${quoted(realm)}"`,
          `nonce="${quoted(nonce)}"`,
          `nc=${nonceCount}`,
          `cnonce="${cnonce}"`,
          `digest-uri="${digestUri}"`,
          'maxbuf=65536',
          `response=${proof(`AUTHENTICATE:${digestUri}`)}`,
          'qop=auth',
        ].join(','),
      )
    },
  }
}

/** Parses `name=value,name="value with \"quotes\""`. */
function parseDirectives(text: string): Map<string, string> {
  const pattern = /([^=,\s]+)=(?:"((?:[^"\\]|\\.)*)"|([^,]*))/g
  const directives = new Map<string, string>()
  for (const [, name, inQuotes, plain] of text.matchAll(pattern))
    directives.set(name!, inQuotes?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
  return directives
}

/**
 * RFC 2831, 2.1.2.1: text that fits into ISO 8859-1 is hashed in that encoding, whatever the
 * charset says.
 */
function hashedText(text: string): Buffer {
  return Buffer.from(text, /^[\0-\u00ff]*$/.test(text) ? 'latin1' : 'utf8')
}

const quoted = (text: string): string => text.replaceAll(/["\\]/g, '\\$&')
const md5 = (data: string | Uint8Array): Buffer => createHash('md5').update(data).digest()
const hex = (data: string | Uint8Array): string => md5(data).toString('hex')
