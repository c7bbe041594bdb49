import { createHash, timingSafeEqual, type KeyObject, type X509Certificate } from 'node:crypto'
import { DerError, derChildren, derTags, octets, oidText, readDer } from '../der.ts'
import { StoreError, type KeyEntry, type Store } from './key-material.ts'
import { parseCertificate, parsePrivateKey } from './parse.ts'

const magicJks = 0xfeedfeed
const magicJceks = 0xcececece
const privateKeyTag = 1
const trustedTag = 2
const hashBytes = 20
const saltBytes = 20
/** The object identifier of Sun's key protection algorithm. */
const sunKeyProtector = '1.3.6.1.4.1.42.2.17.1.1'
/** Hashed into the digest of the store, so that it differs from other digests. */
const whitener = 'Mighty Aphrodite'

/** Whether the bytes are one of Java's old stores, and not PKCS#12 with the same file name. */
export function isJks(bytes: Uint8Array): boolean {
  if (bytes.length < 4) return false
  const magic = Buffer.from(bytes.buffer, bytes.byteOffset, 4).readUInt32BE()
  return magic === magicJks || magic === magicJceks
}

/** Reads a JKS store. With an empty password it reads certificates without checking integrity. */
export function readJks(bytes: Uint8Array, password: string, location: string): Store {
  const convert =
    `Convert it: keytool -importkeystore -srckeystore ${location} ` +
    `-destkeystore store.p12 -deststoretype PKCS12`
  const reader = new JavaReader(bytes)
  const magic = reader.int()
  if (magic === magicJceks)
    throw new StoreError(`it is a JCEKS store, which is not read. ${convert}`)
  if (magic !== magicJks) throw new StoreError('it is not a JKS store')
  const version = reader.int()
  if (version !== 1 && version !== 2) {
    throw new StoreError(`it is a JKS store of version ${version}, which is not known. ${convert}`)
  }
  if (password !== '') checkDigest(bytes, password)
  const keys: KeyEntry[] = []
  const trusted: X509Certificate[] = []
  for (let left = reader.int(); left > 0; left--) {
    const tag = reader.int()
    const alias = reader.text()
    reader.skip(8)
    if (tag === privateKeyTag) {
      const encrypted = reader.bytes(reader.int())
      const chain: X509Certificate[] = []
      for (let count = reader.int(); count > 0; count--) chain.push(certificate(reader, version))
      keys.push({ alias, key: decryptKey(encrypted, password, convert), chain })
    } else if (tag === trustedTag) {
      trusted.push(certificate(reader, version))
    } else {
      throw new StoreError(`it is damaged: an entry is of the kind ${tag}`)
    }
  }
  return { keys, trusted, crls: [] }
}

function certificate(reader: JavaReader, version: number): X509Certificate {
  const type = version === 2 ? reader.text() : 'X.509'
  const der = reader.bytes(reader.int())
  if (type !== 'X.509') throw new StoreError(`it has a certificate of the kind ${type}`)
  return parseCertificate(der)
}

function checkDigest(bytes: Uint8Array, password: string): void {
  if (bytes.length < hashBytes) throw new StoreError('it is cut short')
  const end = bytes.length - hashBytes
  const digest = createHash('sha1')
    .update(passwordBytes(password))
    .update(whitener)
    .update(bytes.subarray(0, end))
    .digest()
  if (!timingSafeEqual(digest, bytes.subarray(end))) {
    throw new StoreError('the password does not fit, or the file is damaged')
  }
}

/**
 * The key is encrypted with a stream of SHA-1 digests, each of the password and the previous
 * digest.
 */
function decryptKey(encryptedInfo: Uint8Array, password: string, convert: string): KeyObject {
  let protectedKey: Uint8Array
  try {
    const [algorithm, encrypted] = derChildren(readDer(encryptedInfo), derTags.sequence)
    const oid = oidText(derChildren(algorithm!, derTags.sequence)[0])
    if (oid !== sunKeyProtector) {
      throw new StoreError(`its key is encrypted by ${oid}, which is not known. ${convert}`)
    }
    protectedKey = octets(encrypted)
  } catch (error) {
    if (error instanceof DerError) throw new StoreError(`it is damaged: ${error.message}`)
    throw error
  }
  const secret = passwordBytes(password)
  const check = protectedKey.subarray(protectedKey.length - hashBytes)
  const hidden = protectedKey.subarray(saltBytes, protectedKey.length - hashBytes)
  const plain = Buffer.from(hidden)
  let digest: Uint8Array = protectedKey.subarray(0, saltBytes)
  for (let at = 0; at < plain.length; at += hashBytes) {
    digest = createHash('sha1').update(secret).update(digest).digest()
    const length = Math.min(hashBytes, plain.length - at)
    for (let i = 0; i < length; i++) plain[at + i] = plain[at + i]! ^ digest[i]!
  }
  const real = createHash('sha1').update(secret).update(plain).digest()
  if (check.length !== hashBytes || !timingSafeEqual(real, check)) {
    throw new StoreError('the password of the store does not fit its key; both must be the same')
  }
  return parsePrivateKey(plain)
}

function passwordBytes(password: string): Buffer {
  return Buffer.from(password, 'utf16le').swap16()
}

/** Reads numbers and text in the format of Java's DataOutputStream. */
class JavaReader {
  private readonly buffer: Buffer
  private at = 0

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  int(): number {
    return this.bytes(4).readUInt32BE()
  }

  text(): string {
    // keytool allows only plain text in aliases, which Java's modified UTF-8 encodes like UTF-8.
    return this.bytes(this.bytes(2).readUInt16BE()).toString('utf8')
  }

  bytes(length: number): Buffer {
    if (length > this.buffer.length - this.at) throw new StoreError('it is cut short')
    this.at += length
    return this.buffer.subarray(this.at - length, this.at)
  }

  skip(length: number): void {
    this.bytes(length)
  }
}
