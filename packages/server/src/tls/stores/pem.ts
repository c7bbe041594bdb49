import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { chainOf } from './chain.ts'
import { StoreError, type Store } from './key-material.ts'
import { parseCertificate } from './parse.ts'

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g

/** Reads a file of PEM blocks: a key with its certificates, trusted certificates, or both. */
export function readPem(text: string, password: string): Store {
  const certificates: X509Certificate[] = []
  const keys: KeyObject[] = []
  const crls: string[] = []
  for (const [pem, label = ''] of text.matchAll(block)) {
    if (
      label === 'CERTIFICATE' ||
      label === 'X509 CERTIFICATE' ||
      label === 'TRUSTED CERTIFICATE'
    ) {
      certificates.push(parseCertificate(pem))
    } else if (label === 'X509 CRL') crls.push(pem)
    else if (label.endsWith('PRIVATE KEY')) keys.push(readKey(pem, password))
  }
  if (certificates.length === 0 && keys.length === 0 && crls.length === 0) {
    throw new StoreError('it holds no certificate and no key in PEM form')
  }
  const entries = keys.map((key) => {
    const own = certificates.find((each) => each.checkPrivateKey(key))
    if (own === undefined) throw new StoreError('none of its certificates fits its private key')
    return { alias: '', key, chain: chainOf(own, certificates) }
  })
  return { keys: entries, trusted: certificates, crls }
}

function readKey(pem: string, password: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, ...(password === '' ? {} : { passphrase: password }) })
  } catch (error) {
    const isEncrypted = /ENCRYPTED/.test(pem)
    const why = isEncrypted
      ? password === ''
        ? 'it is encrypted, and no password is given'
        : 'the password does not fit'
      : (error as Error).message
    throw new StoreError(`its private key cannot be read: ${why}`)
  }
}
