import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { X509Certificate, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { subjectBytes } from '../distinguished-name.ts'
import {
  bitString,
  boolean,
  der,
  explicit,
  integer,
  octetString,
  oid,
  sequence,
  set,
  time,
  utf8String,
} from './der-writer.ts'

/** A certificate with the private key that belongs to it. */
export interface Identity {
  readonly certificate: X509Certificate
  readonly key: KeyObject
}

/** The subject of a certificate, most general part first: `[['O', 'Example'], ['CN', 'zk1']]`. */
export type Subject = readonly (readonly [keyof typeof attributes, string])[]

export interface CertificateOptions {
  readonly subject: Subject
  /** The host names and addresses in it. */
  readonly hosts?: readonly string[]
  readonly days: number
  /** The start of its validity; now by default. */
  readonly from?: Date
  /** Undefined: a self-signed authority. */
  readonly issuer?: Identity
  /** The key to keep when a certificate is renewed. */
  readonly key?: KeyObject
}

const attributes = {
  CN: '2.5.4.3',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  C: '2.5.4.6',
  DC: '0.9.2342.19200300.100.1.25',
} as const

export const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'))
const dayMs = 24 * 60 * 60 * 1000
/** The clocks of other machines may be behind. */
const clockSkewMs = 60 * 60 * 1000

const extensionIds = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const
const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

/**
 * Makes a key and a certificate for it: an authority, or a certificate for a server or client that
 * an authority signs.
 */
export function issueCertificate(options: CertificateOptions): Identity {
  const { subject, hosts = [], days, issuer } = options
  const key = options.key ?? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const name = encodeName(subject)
  const from = options.from ?? new Date(Date.now() - clockSkewMs)
  const until = new Date((options.from?.getTime() ?? Date.now()) + days * dayMs)
  const isAuthority = issuer === undefined
  const authorityKey =
    issuer === undefined
      ? publicKey
      : issuer.certificate.publicKey.export({ type: 'spki', format: 'der' })
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    ecdsaWithSha256,
    // A certificate repeats the name of its issuer byte by byte.
    issuer === undefined ? name : subjectBytes(issuer.certificate.raw),
    sequence(time(from), time(until)),
    name,
    publicKey,
    explicit(
      3,
      sequence(
        extension('basicConstraints', isAuthority ? sequence(boolean(true)) : sequence(), true),
        // An authority signs certificates and revocation lists, others sign handshakes.
        extension(
          'keyUsage',
          isAuthority ? bitString(Buffer.from([0x06]), 1) : bitString(Buffer.from([0x80]), 7),
          true,
        ),
        ...(isAuthority
          ? []
          : [extension('extendedKeyUsage', sequence(oid(serverAuth), oid(clientAuth)))]),
        ...(hosts.length === 0
          ? []
          : [extension('alternativeNames', sequence(...hosts.map(alternativeName)))]),
        extension('subjectKeyId', octetString(keyId(publicKey))),
        extension('authorityKeyId', sequence(der(0x80, keyId(authorityKey)))),
      ),
    ),
  )
  const signature = sign('sha256', body, issuer?.key ?? key)
  const certificate = new X509Certificate(sequence(body, ecdsaWithSha256, bitString(signature)))
  return { certificate, key }
}

/** Positive and unpredictable. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes
}

function encodeName(subject: Subject): Buffer {
  return sequence(
    ...subject.map(([attribute, value]) =>
      set(sequence(oid(attributes[attribute]), encodeValue(attribute, value))),
    ),
  )
}

function encodeValue(attribute: keyof typeof attributes, value: string): Buffer {
  if (attribute === 'C') return der(0x13, Buffer.from(value))
  return attribute === 'DC' ? der(0x16, Buffer.from(value)) : utf8String(value)
}

function extension(name: keyof typeof extensionIds, value: Uint8Array, isCritical = false): Buffer {
  const critical = isCritical ? [boolean(true)] : []
  return sequence(oid(extensionIds[name]), ...critical, octetString(value))
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? der(0x82, Buffer.from(host)) : der(0x87, addressBytes(host))
}

function addressBytes(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from(host.split('.').map(Number))
  const [head = '', tail = ''] = host.split('::')
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [groups(head), groups(tail)]
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

function keyId(publicKey: Uint8Array): Buffer {
  return createHash('sha1').update(publicKey).digest()
}
