import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext, type SecureVersion } from 'node:tls'
import type { X509Certificate } from 'node:crypto'
import type { StoreSettings, TlsSettings } from '../config/tls-settings.ts'
import { faultCode } from '@zabra/core'
import { openSslCipher } from './cipher-names.ts'
import { DerError } from './der.ts'
import { issuersWithoutList, readRevocationList, type RevocationList } from './revocation-lists.ts'
import { StoreError, type Store } from './stores/key-material.ts'
import { readStore, storeTypeOf } from './stores/read-store.ts'

/** TLS cannot be set up as configured; the message names the key and the problem. */
export class TlsConfigError extends Error {
  override readonly name = 'TlsConfigError'
}

/** The key, certificates and trust anchors of one use of TLS, read and checked. */
export interface Credentials {
  readonly context: SecureContext
  /** The same, for functions that make their own context. */
  readonly options: SecureOptions
  /** This server's own certificate, followed by those of its issuers. */
  readonly chain: readonly X509Certificate[]
  readonly trusted: readonly X509Certificate[]
  /** Empty if revocation is not checked. */
  readonly revocationLists: readonly RevocationList[]
  /** The files that were read. */
  readonly files: readonly string[]
  /** Warnings, one sentence each. */
  readonly warnings: readonly string[]
}

export interface SecureOptions {
  readonly key: string
  readonly cert: string
  readonly ca: string[]
  readonly crl?: string[]
  readonly minVersion: SecureVersion
  readonly maxVersion: SecureVersion
  readonly ciphers?: string
  readonly honorCipherOrder: boolean
}

const versions = ['TLSv1.2', 'TLSv1.3'] as const

/** What to do where no trust store is set. */
const withoutTrust = {
  'ssl.': '; set it, or ssl.clientAuth=none',
  'ssl.quorum.': '',
  'ssl.admin.': '; set it, or remove admin.needClientAuth and admin.wantClientAuth',
} as const

/** Reads and checks everything that a use of TLS is configured with. */
export function loadCredentials(settings: TlsSettings): Credentials {
  const { prefix, keyStore, trustStore, clientAuth } = settings
  const warnings: string[] = []
  const files: string[] = []
  const own = loadStore(`${prefix}keyStore`, keyStore, files)
  if (own === undefined) throw new TlsConfigError(`${prefix}keyStore.location is not set`)
  const [entry, ...others] = own.keys
  if (entry === undefined || entry.chain.length === 0) {
    throw new TlsConfigError(
      `${prefix}keyStore.location: ${keyStore.location} has no private key with a certificate`,
    )
  }
  if (others.length > 0) {
    const name = entry.alias === '' ? 'the first' : entry.alias
    warnings.push(`${prefix}keyStore.location: there are ${own.keys.length} keys; ${name} is used`)
  }
  if (!entry.chain[0]!.checkPrivateKey(entry.key)) {
    throw new TlsConfigError(
      `${prefix}keyStore.location: the certificate does not belong to the private key`,
    )
  }
  const believed = loadStore(`${prefix}trustStore`, trustStore, files)
  const trusted =
    believed === undefined
      ? []
      : [...believed.trusted, ...believed.keys.map(({ chain }) => chain[0]!)]
  if (trusted.length === 0 && believed !== undefined) {
    throw new TlsConfigError(
      `${prefix}trustStore.location: ${trustStore.location} has no certificate that is trusted`,
    )
  }
  if (believed === undefined && (clientAuth !== 'none' || prefix === 'ssl.quorum.')) {
    throw new TlsConfigError(
      `${prefix}trustStore.location is not set, so that no certificate of anybody can be checked` +
        withoutTrust[prefix],
    )
  }
  const { min, max } = versionsOf(settings, warnings)
  const ciphers = ciphersOf(settings, warnings)
  const revocationLists = revocationListsOf(settings, believed, files)
  for (const issuer of settings.crl ? issuersWithoutList(revocationLists, trusted) : []) {
    warnings.push(
      `${prefix}crl: there is no revocation list of ${issuer}, so all of its certificates are refused`,
    )
  }
  const options: SecureOptions = {
    key: entry.key.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: entry.chain.map(String).join('\n'),
    // Without a trust store nothing is trusted, not even the authorities that come with Node.js.
    ca: trusted.map(String),
    ...(settings.crl ? { crl: revocationLists.map(({ pem }) => pem) } : {}),
    minVersion: min,
    maxVersion: max,
    ...(ciphers === undefined ? {} : { ciphers }),
    honorCipherOrder: true,
  }
  try {
    const context = createSecureContext(options)
    return { context, options, chain: entry.chain, trusted, revocationLists, files, warnings }
  } catch (error) {
    throw new TlsConfigError(`${prefix}keyStore.location: ${(error as Error).message}`)
  }
}

function loadStore(key: string, settings: StoreSettings, files: string[]): Store | undefined {
  const { location, type } = settings
  if (location === undefined || location === '') return undefined
  const bytes = read(`${key}.location`, location, files)
  const password = passwordOf(key, settings, files)
  try {
    return readStore(bytes, { type: storeTypeOf(location, type), password, location })
  } catch (error) {
    const isKnown = error instanceof StoreError
    const { message } = error as Error
    const why = isKnown ? message : `it is damaged: ${message}`
    throw new TlsConfigError(`${key}.location: ${location}: ${why}`)
  }
}

/**
 * A password file wins over a password in the configuration. Its final line break is not part of
 * the password.
 */
function passwordOf(
  key: string,
  { password, passwordPath }: StoreSettings,
  files: string[],
): string {
  if (passwordPath === undefined || passwordPath === '') return password
  return read(`${key}.passwordPath`, passwordPath, files)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

function read(key: string, location: string, files: string[]): Buffer {
  files.push(location)
  try {
    return readFileSync(location)
  } catch (error) {
    const code = faultCode(error)
    const why = code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`
    throw new TlsConfigError(`${key}: ${location}: ${why}`)
  }
}

function versionsOf(
  { prefix, protocol, protocols }: TlsSettings,
  warnings: string[],
): { min: SecureVersion; max: SecureVersion } {
  const upTo = protocol === 'TLSv1.2' ? versions.slice(0, 1) : versions
  if (protocol !== undefined && !['TLS', ...versions].includes(protocol)) {
    throw new TlsConfigError(`${prefix}protocol: ${protocol} is none of ${versions.join(', ')}`)
  }
  const known = versions.filter((each) => protocols.includes(each))
  for (const each of protocols) {
    if (!versions.some((version) => version === each)) {
      warnings.push(`${prefix}enabledProtocols: ${each} is not offered; it is outdated or unknown`)
    }
  }
  if (protocols.length > 0 && known.length === 0) {
    throw new TlsConfigError(
      `${prefix}enabledProtocols: none of ${protocols.join(', ')} is offered; use ${versions.join(', ')}`,
    )
  }
  const used = known.length > 0 ? known : upTo
  return { min: used[0]!, max: used.at(-1)! }
}

function ciphersOf({ prefix, ciphers }: TlsSettings, warnings: string[]): string | undefined {
  if (ciphers.length === 0) return undefined
  const found: string[] = []
  for (const name of ciphers) {
    const openSsl = openSslCipher(name)
    if (openSsl === undefined) warnings.push(`${prefix}ciphersuites: ${name} is not available here`)
    else if (openSsl !== '') found.push(openSsl)
  }
  if (found.length === 0) {
    throw new TlsConfigError(`${prefix}ciphersuites: none of them is available here`)
  }
  return found.join(':')
}

function revocationListsOf(
  { prefix, crl, crlLocation }: TlsSettings,
  believed: Store | undefined,
  files: string[],
): RevocationList[] {
  if (!crl) return []
  const lists = [...(believed?.crls ?? [])]
  if (crlLocation !== undefined) {
    const text = read(`${prefix}crl.location`, crlLocation, files).toString('latin1')
    const found = text.match(/-----BEGIN X509 CRL-----[\s\S]*?-----END X509 CRL-----/g) ?? []
    if (found.length === 0) {
      throw new TlsConfigError(
        `${prefix}crl.location: ${crlLocation} has no list in PEM form. Convert it: ` +
          `openssl crl -inform DER -in ${crlLocation} -out crl.pem`,
      )
    }
    lists.push(...found)
  }
  if (lists.length === 0) {
    throw new TlsConfigError(
      `${prefix}crl is true, but there is no revocation list; set ${prefix}crl.location`,
    )
  }
  try {
    return lists.map(readRevocationList)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new TlsConfigError(`${prefix}crl: a revocation list is damaged: ${error.message}`)
  }
}
