import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { subjectOf } from '../distinguished-name.ts'
import { issueCertificate, type Identity } from './certificate.ts'

export interface InitTlsOptions {
  /** The directory of the files. An existing authority is reused. */
  readonly directory: string
  /** Names of servers, each with its hosts and addresses. */
  readonly servers: readonly { readonly name: string; readonly hosts: readonly string[] }[]
  /** Names of clients. */
  readonly clients: readonly string[]
  readonly organization: string
  /** The validity of certificates for servers and clients. */
  readonly days: number
  readonly authorityDays: number
  /** Replace existing certificates. */
  readonly renew: boolean
}

export interface IssuedFile {
  readonly path: string
  readonly what: 'authority' | 'authority key' | 'server' | 'client'
  /** The subject, in the form that ACLs use. */
  readonly subject: string
  readonly validUntil: Date
  /** It existed already, and was not changed. */
  readonly isKept: boolean
}

/** The request cannot be carried out; the message says why. */
export class InitTlsError extends Error {
  override readonly name = 'InitTlsError'
}

const authorityFile = 'ca.pem'
const authorityKeyFile = 'ca-key.pem'
/** Names that are valid file names on every platform. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/**
 * Makes an authority, and certificates for servers and clients: PEM files for
 * `ssl.keyStore.location` and `ssl.trustStore.location`, which also work with Apache's servers and
 * clients.
 */
export function initTls(options: InitTlsOptions): IssuedFile[] {
  const { directory, servers, clients, days, renew } = options
  const names = [...servers.map(({ name }) => name), ...clients.map((name) => `client-${name}`)]
  for (const name of names) {
    if (!plainName.test(name)) throw new InitTlsError(`"${name}" cannot be the name of a file`)
    if (name === 'ca' || name === 'ca-key') throw new InitTlsError(`the name ${name} is taken`)
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new InitTlsError(`${twice} is named twice`)
  mkdirSync(directory, { recursive: true })
  const { identity: authority, files } = openAuthority(options)
  const issue = (name: string, what: 'server' | 'client', hosts: readonly string[]): void => {
    const path = join(directory, `${what === 'client' ? 'client-' : ''}${name}.pem`)
    if (existsSync(path) && !renew) {
      files.push(fileOf(path, what, new X509Certificate(readFileSync(path)), true))
      return
    }
    const subject = [
      ['O', options.organization],
      ['CN', name],
    ] as const
    const issued = issueCertificate({ subject, hosts, days, issuer: authority })
    const { certificate } = issued
    write(path, keyPem(issued) + certificate.toString() + authority.certificate.toString(), 0o600)
    files.push(fileOf(path, what, certificate, false))
  }
  for (const { name, hosts } of servers) issue(name, 'server', hosts.length > 0 ? hosts : [name])
  for (const name of clients) issue(name, 'client', [])
  return files
}

/** The lines of zoo.cfg that use these files. */
export function tlsConfigLines(directory: string, server: string, securePort = 2281): string[] {
  const own = join(directory, `${server}.pem`)
  const trusted = join(directory, authorityFile)
  return [
    `secureClientPort=${securePort}`,
    `ssl.keyStore.location=${own}`,
    `ssl.trustStore.location=${trusted}`,
    'sslQuorum=true',
    `ssl.quorum.keyStore.location=${own}`,
    `ssl.quorum.trustStore.location=${trusted}`,
  ]
}

function openAuthority({ directory, organization, authorityDays }: InitTlsOptions): {
  identity: Identity
  files: IssuedFile[]
} {
  const path = join(directory, authorityFile)
  const keyPath = join(directory, authorityKeyFile)
  const [isThere, hasKey] = [existsSync(path), existsSync(keyPath)]
  if (isThere !== hasKey) {
    const [found, missing] = isThere ? [path, keyPath] : [keyPath, path]
    throw new InitTlsError(
      `${found} is there, but not ${missing}: put it back, or use another place`,
    )
  }
  let identity: Identity
  if (isThere) {
    const certificate = new X509Certificate(readFileSync(path))
    const key = createPrivateKey(readFileSync(keyPath))
    if (!certificate.checkPrivateKey(key)) {
      throw new InitTlsError(`${keyPath} is not the key of ${path}`)
    }
    identity = { certificate, key }
  } else {
    const subject = [
      ['O', organization],
      ['CN', 'ZooKeeper CA'],
    ] as const
    identity = issueCertificate({ subject, days: authorityDays })
    write(keyPath, keyPem(identity), 0o600)
    write(path, identity.certificate.toString(), 0o644)
  }
  const { certificate } = identity
  const files = [
    fileOf(path, 'authority', certificate, isThere),
    fileOf(keyPath, 'authority key', certificate, isThere),
  ]
  return { identity, files }
}

function keyPem({ key }: Identity): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Writes atomically: a server that watches the file must not see half of it. */
function write(path: string, text: string, mode: number): void {
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode })
  renameSync(draft, path)
}

function fileOf(
  path: string,
  what: IssuedFile['what'],
  certificate: X509Certificate,
  isKept: boolean,
): IssuedFile {
  const validUntil = new Date(certificate.validTo)
  return { path, what, subject: subjectOf(certificate.raw), validUntil, isKept }
}
