import type { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import type { ServerConfig } from '../config/config.ts'
import type { TlsSettings } from '../config/tls-settings.ts'
import { loadCredentials, TlsConfigError, type Credentials } from './credentials.ts'
import { subjectOf } from './distinguished-name.ts'
import { outdatedLists } from './revocation-lists.ts'
import { namesHost } from './peer-names.ts'
import { tlsUses, type TlsContexts } from './tls-contexts.ts'

/** Facts about a certificate, for people. */
export interface CertificateSummary {
  /** In the form that ACLs use. */
  readonly subject: string
  readonly issuer: string
  readonly serial: string
  readonly names: readonly string[]
  readonly validFrom: Date
  readonly validUntil: Date
  readonly key: string
}

/** The effect of a configuration on one use of TLS. */
export interface TlsUseReport {
  readonly use: keyof TlsContexts
  /** The accepted connections: `TLS`, `TLS and plain`. */
  readonly speaks: string
  readonly settings: TlsSettings
  /** Undefined if it cannot be used. */
  readonly certificate: CertificateSummary | undefined
  readonly trusted: readonly CertificateSummary[]
  /** The revocation lists: issuer, and the end of validity. */
  readonly lists: readonly string[]
  readonly versions: string
  /** Problems that keep the server from starting. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

const dayMs = 24 * 60 * 60 * 1000
const warnBeforeDays = 30

/** Reports how the server would use its certificates; empty if it uses no TLS. */
export function checkTls(config: ServerConfig, now = new Date()): TlsUseReport[] {
  const { tls, quorumTls, adminTls } = config
  const uses = tlsUses(config)
  const plainToo = (isPlain: boolean): string => (isPlain ? 'TLS and plain' : 'TLS')
  const reports: TlsUseReport[] = []
  if (uses.clients) {
    const port = tls.port === undefined ? '' : `TLS on port ${tls.port}`
    const shared = tls.portUnification ? `TLS and plain on port ${config.clientPort}` : ''
    const speaks = [port, shared].filter((each) => each !== '').join(', ')
    reports.push(reportOf('clients', speaks, tls.settings, now))
  }
  if (uses.servers) {
    const dials = quorumTls.dials ? 'connects by TLS' : 'connects without TLS'
    const speaks = `${dials}, accepts ${plainToo(quorumTls.acceptsPlain)}`
    reports.push(reportOf('servers', speaks, quorumTls.settings, now, ownHost(config)))
  }
  if (uses.administrators) {
    const speaks = plainToo(adminTls.acceptsPlain)
    reports.push(reportOf('administrators', speaks, adminTls.settings, now))
  }
  return reports
}

function ownHost({ ensemble }: ServerConfig): string | undefined {
  return ensemble?.servers.get(ensemble.serverId)?.addresses[0]?.host
}

function reportOf(
  use: keyof TlsContexts,
  speaks: string,
  settings: TlsSettings,
  now: Date,
  host?: string,
): TlsUseReport {
  const common = { use, speaks, settings }
  let credentials: Credentials
  try {
    credentials = loadCredentials(settings)
  } catch (error) {
    if (!(error instanceof TlsConfigError)) throw error
    const noFindings = {
      certificate: undefined,
      trusted: [],
      lists: [],
      versions: '',
      warnings: [],
    }
    return { ...common, ...noFindings, errors: [error.message] }
  }
  const { chain, trusted, options } = credentials
  const warnings = [...credentials.warnings]
  const [own] = chain
  const daysLeft = (Date.parse(own!.validTo) - now.getTime()) / dayMs
  if (daysLeft <= 0) warnings.push('the certificate has expired: others will not connect')
  else if (daysLeft < warnBeforeDays) {
    warnings.push(`the certificate expires in ${Math.floor(daysLeft)} days`)
  }
  if (Date.parse(own!.validFrom) > now.getTime()) warnings.push('the certificate is not valid yet')
  if (trusted.length > 0 && !isTrusted(chain, trusted)) {
    warnings.push('no certificate of the trust store has issued the certificate of the server')
  }
  if (host !== undefined && settings.hostnameVerification && !namesHost(own!, host)) {
    warnings.push(`the certificate does not name ${host}, where the others connect to`)
  }
  for (const { issuer } of outdatedLists(credentials.revocationLists, now.getTime())) {
    warnings.push(
      `the revocation list of ${issuer} is out of date: all of its certificates are refused`,
    )
  }
  const { minVersion, maxVersion } = options
  return {
    ...common,
    certificate: summaryOf(own!),
    trusted: trusted.map(summaryOf),
    lists: credentials.revocationLists.map(({ issuer, nextUpdate }) =>
      nextUpdate === undefined ? issuer : `${issuer}, until ${day(nextUpdate)}`,
    ),
    versions: minVersion === maxVersion ? minVersion : `${minVersion} to ${maxVersion}`,
    errors: [],
    warnings,
  }
}

/** Whether the chain ends with a trusted certificate, or with one that a trusted one has issued. */
function isTrusted(
  chain: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
): boolean {
  return chain.some((each) =>
    trusted.some(
      (root) =>
        root.fingerprint256 === each.fingerprint256 ||
        (each.checkIssued(root) && each.verify(root.publicKey)),
    ),
  )
}

function summaryOf(certificate: X509Certificate): CertificateSummary {
  const { publicKey } = certificate
  const { namedCurve, modulusLength } = publicKey.asymmetricKeyDetails ?? {}
  const size = namedCurve ?? modulusLength
  return {
    subject: subjectOf(certificate.raw),
    issuer: certificate.issuer.split('\n').toReversed().join(','),
    serial: certificate.serialNumber,
    names: (certificate.subjectAltName ?? '').split(', ').filter((name) => name !== ''),
    validFrom: new Date(certificate.validFrom),
    validUntil: new Date(certificate.validTo),
    key: `${publicKey.asymmetricKeyType}${size === undefined ? '' : ` ${size}`}`,
  }
}

/** The certificates that a running server presents, trusted or not. */
export function servedCertificates(
  host: string,
  port: number,
  timeoutMs: number,
): Promise<{ readonly protocol: string; readonly chain: readonly CertificateSummary[] }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false })
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`${host}:${port} does not answer`)))
    // A server that needs a client certificate presents its own before it ends the connection.
    socket.once('secureConnect', () => {
      const chain: CertificateSummary[] = []
      for (let each = socket.getPeerX509Certificate(); each !== undefined;) {
        chain.push(summaryOf(each))
        each = each.issuerCertificate
      }
      resolve({ protocol: socket.getProtocol() ?? '', chain })
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

/** The report as text. */
export function describeTlsReport(reports: readonly TlsUseReport[]): string {
  if (reports.length === 0) return 'The configuration uses no TLS.\n'
  return reports.map(describeUse).join('\n')
}

function describeUse(report: TlsUseReport): string {
  const { use, speaks, settings, certificate, trusted, lists, versions, errors, warnings } = report
  const lines = [`TLS for ${use}: ${speaks}`]
  const add = (name: string, text: string): void => void lines.push(`  ${name.padEnd(13)}${text}`)
  if (certificate !== undefined) {
    add('serves', certificate.subject)
    add('names', certificate.names.join(', ') || 'none')
    add('issued by', certificate.issuer)
    add('serial', certificate.serial)
    add('key', certificate.key)
    add('valid', `${day(certificate.validFrom)} to ${day(certificate.validUntil)}`)
    add('versions', versions)
    add('certificates', `${settings.clientAuth} from those who connect`)
    for (const each of trusted) add('trusts', `${each.subject}, until ${day(each.validUntil)}`)
    add('revocation', settings.crl ? 'checked against lists' : 'not checked')
    for (const list of lists) add('list', list)
  }
  for (const error of errors) add('error', error)
  for (const warning of warnings) add('warning', warning)
  return `${lines.join('\n')}\n`
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}
