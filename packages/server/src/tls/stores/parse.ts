import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { StoreError } from './key-material.ts'

/** Reads a certificate in DER or PEM. */
export function parseCertificate(bytes: Uint8Array | string): X509Certificate {
  try {
    return new X509Certificate(bytes)
  } catch (error) {
    throw new StoreError(`a certificate in it cannot be read: ${(error as Error).message}`)
  }
}

/** Reads a private key in PKCS#8. */
export function parsePrivateKey(der: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
  } catch (error) {
    throw new StoreError(`its private key cannot be read: ${(error as Error).message}`)
  }
}
