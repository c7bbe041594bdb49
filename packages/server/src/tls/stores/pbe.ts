import { createDecipheriv, getCiphers, pbkdf2Sync } from 'node:crypto'
import { derChildren, derTags, octets, oidText, smallInteger, type DerValue } from '../der.ts'
import { StoreError } from './key-material.ts'
import { derivePkcs12Key, purposes } from './pkcs12-key.ts'
import { decryptRc2 } from './rc2.ts'

/** The same bound as in Java; each round costs about a microsecond. */
export const iterationsMax = 5_000_000

interface Cipher {
  readonly name: string
  readonly keyBytes: number
  readonly ivBytes: number
}

const tripleDes = { name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 } as const

/** Ciphers by object identifier, for PBES2 of PKCS#5. */
const ciphers: Readonly<Record<string, Cipher>> = {
  '1.2.840.113549.3.7': tripleDes,
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
}

export const macHashes: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
  '2.16.840.1.101.3.4.2.4': 'sha224',
}

export const hmacHashes: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.8': 'sha224',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}

/** PKCS#12's own encryption schemes: a hash of the password, and an old cipher. */
const oldWays: Readonly<Record<string, Cipher & { readonly rc2Bits?: number }>> = {
  '1.2.840.113549.1.12.1.1': { name: 'rc4', keyBytes: 16, ivBytes: 0 },
  '1.2.840.113549.1.12.1.2': { name: 'rc4-40', keyBytes: 5, ivBytes: 0 },
  '1.2.840.113549.1.12.1.3': tripleDes,
  '1.2.840.113549.1.12.1.4': { name: 'des-ede-cbc', keyBytes: 16, ivBytes: 8 },
  '1.2.840.113549.1.12.1.5': { name: 'rc2-cbc', keyBytes: 16, ivBytes: 8, rc2Bits: 128 },
  '1.2.840.113549.1.12.1.6': { name: 'rc2-40-cbc', keyBytes: 5, ivBytes: 8, rc2Bits: 40 },
}

const pbes2 = '1.2.840.113549.1.5.13'
const pbkdf2 = '1.2.840.113549.1.5.12'

/**
 * Decrypts a part of a store with its password; `toConvert` is the command to suggest if that is
 * not supported.
 */
export function decryptWithPassword(
  algorithm: DerValue,
  encrypted: Uint8Array,
  password: string,
  toConvert: string,
): Buffer {
  const [oidValue, parameters] = derChildren(algorithm, derTags.sequence)
  const oid = oidText(oidValue)
  const oldWay = oldWays[oid]
  if (oid !== pbes2 && oldWay === undefined) {
    throw new StoreError(
      `it is encrypted by the algorithm ${oid}, which is not known. ${toConvert}`,
    )
  }
  if (parameters === undefined) throw new StoreError('it is encrypted without parameters')
  if (oldWay === undefined) return decryptPbes2(parameters, encrypted, password, toConvert)
  const [saltValue, rounds] = derChildren(parameters, derTags.sequence)
  const salt = octets(saltValue)
  const iterations = smallInteger(rounds, iterationsMax)
  const derive = (purpose: number, bytes: number): Buffer =>
    derivePkcs12Key(password, salt, { purpose, iterations, bytes, hash: 'sha1' })
  const key = derive(purposes.key, oldWay.keyBytes)
  const iv = derive(purposes.iv, oldWay.ivBytes)
  if (oldWay.rc2Bits !== undefined) return decryptRc2(encrypted, key, iv, oldWay.rc2Bits)
  // DES with two keys: the last of the three keys is the first one.
  if (oldWay.name === 'des-ede-cbc') {
    return decipher(tripleDes.name, Buffer.concat([key, key.subarray(0, 8)]), iv, encrypted)
  }
  if (!getCiphers().includes(oldWay.name) || oldWay.ivBytes === 0) {
    throw new StoreError(`it is encrypted by ${oldWay.name}, which Node.js lacks. ${toConvert}`)
  }
  return decipher(oldWay.name, key, iv, encrypted)
}

function decryptPbes2(
  parameters: DerValue,
  encrypted: Uint8Array,
  password: string,
  toConvert: string,
): Buffer {
  const [derivation, scheme] = derChildren(parameters, derTags.sequence)
  const [schemeOid, ivValue] = derChildren(scheme!, derTags.sequence)
  const cipher = ciphers[oidText(schemeOid)]
  if (cipher === undefined) {
    throw new StoreError(
      `it is encrypted by the cipher ${oidText(schemeOid)}, which is not known. ${toConvert}`,
    )
  }
  const [derivationOid, derivationParameters] = derChildren(derivation!, derTags.sequence)
  if (oidText(derivationOid) !== pbkdf2) {
    throw new StoreError(
      `its key is derived by ${oidText(derivationOid)}, which is not known. ${toConvert}`,
    )
  }
  const key = derivePbkdf2(derivationParameters!, password, cipher.keyBytes)
  return decipher(cipher.name, key, octets(ivValue), encrypted)
}

/** Derives a key from a password and the parameters of PBKDF2 (RFC 8018). */
export function derivePbkdf2(parameters: DerValue, password: string, bytes: number): Buffer {
  const [saltValue, rounds, ...more] = derChildren(parameters, derTags.sequence)
  const prf = more.find(({ tag }) => tag === derTags.sequence)
  const prfOid = prf === undefined ? '1.2.840.113549.2.7' : oidText(derChildren(prf)[0])
  const hash = hmacHashes[prfOid]
  if (hash === undefined)
    throw new StoreError(`its key is derived by ${prfOid}, which is not known`)
  const iterations = smallInteger(rounds, iterationsMax)
  return pbkdf2Sync(password, octets(saltValue), iterations, bytes, hash)
}

function decipher(name: string, key: Uint8Array, iv: Uint8Array, encrypted: Uint8Array): Buffer {
  try {
    const stream = createDecipheriv(name, key, iv)
    return Buffer.concat([stream.update(encrypted), stream.final()])
  } catch {
    throw new StoreError('the password does not fit')
  }
}
