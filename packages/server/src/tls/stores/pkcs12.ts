import { createHmac, timingSafeEqual, type KeyObject, type X509Certificate } from 'node:crypto'
import {
  DerError,
  derChildren,
  derTags,
  expectTag,
  octets,
  oidText,
  readDer,
  smallInteger,
  type DerValue,
} from '../der.ts'
import { chainOf } from './chain.ts'
import { StoreError, type KeyEntry, type Store } from './key-material.ts'
import { parseCertificate, parsePrivateKey } from './parse.ts'
import { decryptWithPassword, derivePbkdf2, hmacHashes, iterationsMax, macHashes } from './pbe.ts'
import { derivePkcs12Key, purposes } from './pkcs12-key.ts'

const oids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  nestedBags: '1.2.840.113549.1.12.10.1.6',
  x509Certificate: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  localKeyId: '1.2.840.113549.1.9.21',
  /** Java's attribute for trusted certificates. */
  javaTrusted: '2.16.840.1.113894.746875.1.1',
  pbmac1: '1.2.840.113549.1.5.14',
} as const

interface Attributes {
  readonly name: string
  readonly localKeyId: string | undefined
  readonly isTrusted: boolean
}

interface FoundKey extends Attributes {
  readonly key: KeyObject
}

interface FoundCertificate extends Attributes {
  readonly certificate: X509Certificate
}

interface Found {
  readonly keys: FoundKey[]
  readonly certificates: FoundCertificate[]
}

/**
 * Reads a PKCS#12 store (RFC 7292): `.p12` and `.pfx` files of OpenSSL, Java, Windows and others.
 */
export function readPkcs12(bytes: Uint8Array, password: string, location: string): Store {
  try {
    return read(bytes, password, toConvert(location))
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new StoreError(`it is not a PKCS12 store, or it is damaged: ${error.message}`)
  }
}

function toConvert(location: string): string {
  return (
    `Convert it: openssl pkcs12 -legacy -in ${location} -out store.pem -nodes, then set the type PEM ` +
    'and the location store.pem'
  )
}

function read(bytes: Uint8Array, password: string, convert: string): Store {
  const [version, authSafe, mac] = derChildren(readDer(bytes), derTags.sequence)
  if (smallInteger(version) !== 3) throw new DerError('its version is not 3')
  const [type, wrapped] = derChildren(authSafe!, derTags.sequence)
  if (oidText(type) !== oids.data) {
    throw new StoreError(`it is sealed by a public key, not by a password. ${convert}`)
  }
  const content = octets(derChildren(wrapped!, derTags.context0)[0])
  // Without a password Java writes no MAC, and encrypts nothing.
  if (mac !== undefined) checkMac(mac, content, password, convert)
  const found: Found = { keys: [], certificates: [] }
  for (const info of derChildren(readDer(content), derTags.sequence)) {
    collect(contentOf(info, password, convert), password, convert, found)
  }
  return assemble(found)
}

function checkMac(mac: DerValue, content: Uint8Array, password: string, convert: string): void {
  const [digestInfo, saltValue, rounds] = derChildren(mac, derTags.sequence)
  const [algorithm, digest] = derChildren(digestInfo!, derTags.sequence)
  const [oidValue, parameters] = derChildren(algorithm!, derTags.sequence)
  const oid = oidText(oidValue)
  const wanted = octets(digest)
  let key: Buffer
  let hash: string | undefined
  if (oid === oids.pbmac1) {
    const [derivation, scheme] = derChildren(parameters!, derTags.sequence)
    hash = hmacHashes[oidText(derChildren(scheme!, derTags.sequence)[0])]
    key = derivePbkdf2(derChildren(derivation!)[1]!, password, wanted.length)
  } else {
    hash = macHashes[oid]
    const iterations = rounds === undefined ? 1 : smallInteger(rounds, iterationsMax)
    key =
      hash === undefined
        ? Buffer.alloc(0)
        : derivePkcs12Key(password, octets(saltValue), {
            purpose: purposes.mac,
            iterations,
            bytes: wanted.length,
            hash,
          })
  }
  if (hash === undefined) {
    throw new StoreError(`it is protected by ${oid}, which is not known. ${convert}`)
  }
  const real = createHmac(hash, key).update(content).digest()
  if (real.length !== wanted.length || !timingSafeEqual(real, wanted)) {
    throw new StoreError('the password does not fit, or the file is damaged')
  }
}

function contentOf(info: DerValue, password: string, convert: string): Uint8Array {
  const [type, wrapped] = derChildren(info, derTags.sequence)
  const [inner] = derChildren(wrapped!, derTags.context0)
  if (oidText(type) === oids.data) return octets(inner)
  if (oidText(type) !== oids.encryptedData) {
    throw new StoreError(`a part of it is encrypted by a public key. ${convert}`)
  }
  const [, encryptedInfo] = derChildren(inner!, derTags.sequence)
  const [, algorithm, encrypted] = derChildren(encryptedInfo!, derTags.sequence)
  return decryptWithPassword(algorithm!, octets(encrypted), password, convert)
}

function collect(bags: Uint8Array, password: string, convert: string, found: Found): void {
  for (const bag of derChildren(readDer(bags), derTags.sequence)) {
    const [type, wrapped, attributeSet] = derChildren(bag, derTags.sequence)
    const [value] = derChildren(wrapped!, derTags.context0)
    const attributes = readAttributes(attributeSet)
    switch (oidText(type)) {
      case oids.keyBag:
        found.keys.push({ ...attributes, key: parsePrivateKey(value!.bytes) })
        break
      case oids.shroudedKeyBag: {
        const [algorithm, encrypted] = derChildren(value!, derTags.sequence)
        const key = decryptWithPassword(algorithm!, octets(encrypted), password, convert)
        found.keys.push({ ...attributes, key: parsePrivateKey(key) })
        break
      }
      case oids.certificateBag: {
        const [kind, content] = derChildren(value!, derTags.sequence)
        if (oidText(kind) !== oids.x509Certificate) break
        const der = octets(derChildren(content!, derTags.context0)[0])
        found.certificates.push({ ...attributes, certificate: parseCertificate(der) })
        break
      }
      case oids.nestedBags:
        collect(value!.bytes, password, convert, found)
        break
      default:
      // Secrets and revocation lists of other programs.
    }
  }
}

function readAttributes(set: DerValue | undefined): Attributes {
  let name = ''
  let localKeyId: string | undefined
  let isTrusted = false
  for (const attribute of set === undefined ? [] : derChildren(set, derTags.set)) {
    const [oid, values] = derChildren(attribute, derTags.sequence)
    const [value] = derChildren(expectTag(values, derTags.set))
    switch (oidText(oid)) {
      case oids.friendlyName:
        name = bmpText(value?.content ?? new Uint8Array(0))
        break
      case oids.localKeyId:
        localKeyId = Buffer.from(value?.content ?? []).toString('hex')
        break
      case oids.javaTrusted:
        isTrusted = true
        break
      default:
    }
  }
  return { name, localKeyId, isTrusted }
}

/** UTF-16, big-endian. */
function bmpText(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes.subarray(0, bytes.length & ~1))
  return whole.swap16().toString('utf16le')
}

/**
 * Decides which certificate belongs to which key, and which are trusted. Java trusts only those
 * that it has marked itself. Stores of certificates alone that other tools make have no marks, but
 * their certificates are meant to be trusted.
 */
function assemble({ keys, certificates }: Found): Store {
  const all = certificates.map(({ certificate }) => certificate)
  const entries: KeyEntry[] = []
  for (const { key, name, localKeyId } of keys) {
    const byId = certificates.find(
      (each) => localKeyId !== undefined && each.localKeyId === localKeyId,
    )
    const own = byId?.certificate ?? all.find((each) => each.checkPrivateKey(key))
    if (own === undefined) continue
    entries.push({ alias: name, key, chain: chainOf(own, all) })
  }
  if (keys.length > 0 && entries.length === 0) {
    throw new StoreError('it has a private key, but no certificate that fits it')
  }
  const marked = certificates.filter(({ isTrusted }) => isTrusted)
  const trusted = marked.length > 0 ? marked : keys.length === 0 ? certificates : []
  return { keys: entries, trusted: trusted.map(({ certificate }) => certificate), crls: [] }
}
