import type { KeyObject, X509Certificate } from 'node:crypto'

/** A private key, and its certificate followed by those of its issuers. */
export interface KeyEntry {
  readonly alias: string
  readonly key: KeyObject
  readonly chain: readonly X509Certificate[]
}

/** The content of a key store or trust store. */
export interface Store {
  readonly keys: readonly KeyEntry[]
  /** Trusted certificates, of authorities or of peers. */
  readonly trusted: readonly X509Certificate[]
  /** Revocation lists in PEM. */
  readonly crls: readonly string[]
}

/** The store cannot be read; the message gives the reason and a remedy. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}
