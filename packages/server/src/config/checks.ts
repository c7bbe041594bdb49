import { isAbsolute } from 'node:path'
import { knownProviders } from './auth-providers.ts'
import {
  adminIdentities,
  apiIdentities,
  authProviders,
  requiredSchemes,
  isPrometheus,
  sessionTimeouts,
} from './to-server-config.ts'
import type { Diagnostics, Origin } from './diagnostics.ts'
import type { EnsembleFindings } from './ensemble.ts'
import type { KeyName, Values } from './keys.ts'
import type { Sources } from './sources.ts'
import { adminTlsPrefix, type TlsPrefix } from './tls-settings.ts'

interface Case {
  readonly values: Values
  readonly sources: Sources
  readonly findings: EnsembleFindings
  readonly report: Diagnostics
  /** Where a key was written; its bare name if it was not. */
  readonly at: (name: KeyName) => Origin
}

/** Checks that concern several keys: contradictions, and dangerous settings. */
export function checkTogether(
  values: Values,
  sources: Sources,
  findings: EnsembleFindings,
  report: Diagnostics,
): void {
  const at = (name: KeyName): Origin => sources.given.get(name)?.origin ?? { key: name }
  const all: Case = { values, sources, findings, report, at }
  checkPorts(all)
  checkDirectories(all)
  checkSessions(all)
  checkAuthentication(all)
  checkTls(all)
  checkAdmin(all)
}

function checkPorts({ values, findings: { self }, report, at }: Case): void {
  const { clientPort, clientPortAddress, secureClientPortAddress } = values
  // A refused value is not a missing one.
  const isMissing = (name: 'clientPort' | 'secureClientPort'): boolean =>
    values[name] === undefined && !report.hasErrorAt(at(name))
  if (isMissing('clientPort') && clientPortAddress !== undefined) {
    report.error(at('clientPortAddress'), 'is set, but clientPort is not')
  }
  if (isMissing('secureClientPort') && secureClientPortAddress !== undefined) {
    report.error(at('secureClientPortAddress'), 'is set, but secureClientPort is not')
  }
  if (isMissing('clientPort') && isMissing('secureClientPort') && self?.client === undefined) {
    report.warning(at('clientPort'), 'is not set, so no client can connect')
  }
  // An option or the environment overrides the line on purpose; a line in the same file contradicts
  // it.
  if (self?.client !== undefined && clientPort !== undefined && at('clientPort').line) {
    const host = isWildcard(clientPortAddress) ? self.client.host : clientPortAddress
    if (self.client.port !== clientPort || self.client.host !== host) {
      const line = `${self.client.host ?? '*'}:${self.client.port}`
      report.error(at('clientPort'), `differs from the client port in server.${self.id}: ${line}`)
    }
  }
  checkClashes({ values, report, at })
}

/** Whether keys and certificates can be read is checked when the server starts. */
function checkTls({ values, sources, findings: { self, ensemble }, report, at }: Case): void {
  const uses: readonly { key: KeyName; isOn: boolean; prefix: TlsPrefix }[] = [
    {
      key: 'secureClientPort',
      isOn: (values.secureClientPort ?? self?.secureClient) !== undefined,
      prefix: 'ssl.',
    },
    {
      key: 'client.portUnification',
      isOn: values['client.portUnification'],
      prefix: 'ssl.',
    },
    { key: 'sslQuorum', isOn: ensemble !== undefined && values.sslQuorum, prefix: 'ssl.quorum.' },
    {
      key: 'portUnification',
      isOn: ensemble !== undefined && values.portUnification,
      prefix: 'ssl.quorum.',
    },
    {
      key: 'admin.forceHttps',
      isOn: values['admin.forceHttps'],
      prefix: adminTlsPrefix(sources),
    },
    {
      key: 'admin.portUnification',
      isOn: values['admin.portUnification'],
      prefix: adminTlsPrefix(sources),
    },
  ]
  for (const { key, isOn, prefix } of uses) {
    const keyStore = `${prefix}keyStore.location` as const
    if (isOn && !values[keyStore]) {
      report.error(at(key), `needs ${keyStore}: the key and the certificate of this server`)
    }
  }
  if (ensemble !== undefined && values.sslQuorum) {
    if (values['ssl.quorum.clientAuth'] !== 'need') {
      const message = `is ${values['ssl.quorum.clientAuth']}: anybody who reaches the ports for servers can connect without a certificate`
      report.warning(at('ssl.quorum.clientAuth'), message)
    }
    if (values.portUnification) {
      const message =
        'is true, so servers are accepted without TLS as well; remove it once all of them use TLS'
      report.warning(at('portUnification'), message)
    }
  }
  if (values['admin.needClientAuth'] && !values['admin.forceHttps']) {
    if (values['admin.portUnification']) {
      const message = 'is true, but without admin.forceHttps others connect without TLS'
      report.warning(at('admin.needClientAuth'), message)
    } else {
      const message = 'is true, but without admin.forceHttps nobody can present a certificate'
      report.error(at('admin.needClientAuth'), message)
    }
  }
  const hasHttps = values['admin.forceHttps'] || values['admin.portUnification']
  if (values['admin.wantClientAuth'] && !hasHttps) {
    const message =
      'is true, but without admin.forceHttps or admin.portUnification nobody can present a certificate'
    report.error(at('admin.wantClientAuth'), message)
  }
  if (values['client.portUnification'] && values.clientPort === undefined && !self?.client) {
    report.error(at('client.portUnification'), 'is true, but there is no clientPort to share')
  }
  for (const prefix of ['ssl.', 'ssl.quorum.', 'ssl.admin.'] as const) {
    const ocsp = `${prefix}ocsp` as const
    if (values[ocsp]) {
      const message = `is true, but zabra cannot ask for revocation; use ${prefix}crl with a list, or short-lived certificates`
      report.error(at(ocsp), message)
    }
  }
}

function isWildcard(address: string | undefined): boolean {
  return address === undefined || address === '0.0.0.0' || address === '::'
}

function checkClashes({ values, report, at }: Pick<Case, 'values' | 'report' | 'at'>): void {
  const ports: readonly [KeyName, number | undefined][] = [
    ['clientPort', values.clientPort],
    ['secureClientPort', values.secureClientPort],
    ['admin.serverPort', values['admin.enableServer'] ? values['admin.serverPort'] : undefined],
    [
      'metricsProvider.httpPort',
      isPrometheus(values['metricsProvider.className'])
        ? values['metricsProvider.httpPort']
        : undefined,
    ],
  ]
  const taken = new Map<number, KeyName>()
  for (const [name, port] of ports) {
    if (port === undefined || port === 0) continue
    const other = taken.get(port)
    if (other !== undefined) report.warning(at(name), `is ${port}, and so is ${other}`)
    taken.set(port, name)
  }
}

function checkDirectories({ values, sources, report, at }: Case): void {
  if (values.dataDir === undefined) report.error(at('dataDir'), 'must be set')
  for (const name of ['dataDir', 'dataLogDir'] as const) {
    const path = sources.given.get(name)?.text
    if (path !== undefined && !isAbsolute(path) && !/^\.{1,2}(\/|$)/.test(path)) {
      const message =
        'is relative to where the server is started; begin it with ./ if that is meant'
      report.notice(at(name), message)
    }
  }
  if (!values.forceSync) {
    report.warning(at('forceSync'), 'is no: a power cut can lose acknowledged writes')
  }
  if (values['snapshot.trust.empty']) {
    const message = 'is true: a lost snapshot goes unnoticed; switch it off after the upgrade'
    report.warning(at('snapshot.trust.empty'), message)
  }
}

function checkSessions({ values, report, at }: Case): void {
  const { min, max } = sessionTimeouts(values)
  if (min > max) {
    const message = `is ${min} ms, more than maxSessionTimeout, which is ${max} ms`
    report.error(at('minSessionTimeout'), message)
  }
  if (
    (values['session.passwords'] ?? 'apache') !== 'apache' &&
    values['session.secretFile'] === undefined
  ) {
    report.error(at('session.passwords'), 'needs session.secretFile')
  }
  if (values.localSessionsUpgradingEnabled && !values.localSessionsEnabled) {
    const message = 'has no effect without localSessionsEnabled=true'
    report.warning(at('localSessionsUpgradingEnabled'), message)
  }
}

function checkAuthentication({ values, sources, report, at }: Case): void {
  const schemes = new Set(['ip'])
  if (values['DigestAuthenticationProvider.enabled']) schemes.add('digest')
  for (const [name, className] of authProviders(sources, values)) {
    const scheme = knownProviders[className.split('.').at(-1) ?? '']
    if (scheme !== undefined) schemes.add(scheme)
    else {
      const origin = sources.members.get(`authProvider.${name}`)?.origin
      const what = className.endsWith('.KeyAuthenticationProvider')
        ? 'is an example of how to write one, and is not offered'
        : 'is a Java class and cannot be loaded'
      report.warning(origin, `${className} ${what}`)
    }
  }
  const key = values.sessionRequireClientSASLAuth
    ? 'sessionRequireClientSASLAuth'
    : 'enforce.auth.enabled'
  const isEnforced = values.sessionRequireClientSASLAuth || values['enforce.auth.enabled']
  const needed = requiredSchemes(values)
  if (isEnforced && needed.length === 0) {
    report.error(at(key), 'is true, but enforce.auth.schemes is empty')
  }
  for (const scheme of needed) {
    if (!schemes.has(scheme)) {
      report.error(at(key), `needs the scheme ${scheme}, which no authProvider offers`)
    }
  }
  if (values.skipACL) report.warning(at('skipACL'), 'is yes: ACLs are not checked')
  const digest = values['DigestAuthenticationProvider.superDigest']
  if (digest !== undefined && !/^[^:]+:[^:]+$/.test(digest)) {
    const message = 'is not of the form user:digest, so nobody can be the super user'
    report.warning(at('DigestAuthenticationProvider.superDigest'), message)
  }
}

/** Every four-letter word of ZooKeeper 3.9. */
const words = new Set(
  'conf cons crst dirs dump envi gtmk ruok stmk srst srvr stat wchc wchp wchs mntr isro hash *'.split(
    ' ',
  ),
)

function checkAdmin({ values, report, at }: Case): void {
  for (const word of values['4lw.commands.whitelist']) {
    if (!words.has(word)) {
      report.warning(at('4lw.commands.whitelist'), `there is no four-letter word ${word}`)
    }
  }
  for (const { scheme, id } of adminIdentities(values['admin.identities'])) {
    if (scheme === '' || id === '') {
      report.error(at('admin.identities'), `expected scheme:id, got "${scheme}${id}"`)
    }
  }
  for (const { role, id } of apiIdentities(values['api.identities'])) {
    if (
      !['metadata', 'read', 'write', 'admin'].includes(role) ||
      id.scheme === '' ||
      id.id === ''
    ) {
      const found = `${role}=${id.scheme}:${id.id}`
      report.error(at('api.identities'), `expected role=scheme:id, got "${found}"`)
    }
  }
  const provider = values['metricsProvider.className']
  const known = provider === undefined || /\.(Default|Null)MetricsProvider$/.test(provider)
  if (!known && !isPrometheus(provider)) {
    const message = `${provider} is a Java class and cannot be loaded; no metrics port is opened`
    report.warning(at('metricsProvider.className'), message)
  }
}
