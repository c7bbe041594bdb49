import type { Diagnostics, Origin } from './diagnostics.ts'
import { readText } from './files.ts'
import { JaasError, parseJaas, type JaasEntry } from './jaas.ts'
import type { KeyName, Values } from './keys.ts'
import type { QuorumSasl, SaslUsers } from './server-config.ts'
import type { Sources } from './sources.ts'

/** The users of SASL, if there are any. */
export interface SaslFindings {
  readonly clients: SaslUsers | undefined
  readonly quorum: QuorumSasl | undefined
}

const digestModule = 'org.apache.zookeeper.server.auth.DigestLoginModule'
const userPrefix = 'user_'
const noUsers: SaslUsers = new Map()

type Sections = ReadonlyMap<string, readonly JaasEntry[]>

/** Reads the configured files with users, and reports problems with them. */
export function readSasl(
  values: Values,
  isEnsemble: boolean,
  sources: Sources,
  report: Diagnostics,
): SaslFindings {
  const at = (name: KeyName): Origin => sources.given.get(name)?.origin ?? { key: name }
  const reading: Reading = { values, sources, report, at, sections: readJaas(values, at, report) }
  const clients = clientUsers(reading)
  const wantsQuorum = isEnsemble && values['quorum.auth.enableSasl']
  const quorum = wantsQuorum ? quorumSasl(reading) : undefined
  if (isEnsemble && !wantsQuorum) checkUnused(reading)
  if (values['fips-mode'] === true && (clients !== undefined || wantsQuorum)) {
    report.error(
      at('fips-mode'),
      'is true, which forbids DIGEST-MD5, the only mechanism of SASL here',
    )
  } else if (clients !== undefined || quorum !== undefined) {
    report.notice(
      { key: 'fips-mode' },
      'is not true, so SASL uses DIGEST-MD5, which is outdated; TLS with certificates is stronger',
    )
  }
  return { clients, quorum }
}

interface Reading {
  readonly values: Values
  readonly sources: Sources
  readonly report: Diagnostics
  readonly at: (name: KeyName) => Origin
  /** Undefined if there is no JAAS file, or it cannot be read. */
  readonly sections: Sections | undefined
}

function readJaas(values: Values, at: Reading['at'], report: Diagnostics): Sections | undefined {
  const file = values['java.security.auth.login.config']
  if (file === undefined) return undefined
  // Java accepts a URL as well.
  const read = readText(file.replace(/^file:(\/\/)?/, '').replace(/^=/, ''))
  if ('problem' in read) {
    report.error(at('java.security.auth.login.config'), `${file}: ${read.problem}`)
    return undefined
  }
  try {
    return parseJaas(read.text)
  } catch (error) {
    if (!(error instanceof JaasError)) throw error
    report.error({ file, line: error.line }, error.message)
    return undefined
  }
}

function clientUsers(reading: Reading): SaslUsers | undefined {
  const { values, sections, report, at, sources } = reading
  const own = values['sasl.usersFile']
  if (own !== undefined) {
    const users = readUsersFile(own, at('sasl.usersFile'), report)
    return withSuperPassword(users ?? noUsers, values)
  }
  const name = values['sasl.serverconfig']
  const entries = sections?.get(name)
  if (entries === undefined) {
    if (sections !== undefined && sources.given.has('sasl.serverconfig')) {
      report.error(at('sasl.serverconfig'), `there is no section ${name} in the JAAS file`)
    }
    return undefined
  }
  const options = digestOptions(entries, name, reading)
  return options && withSuperPassword(usersOf(options), values)
}

function withSuperPassword(users: SaslUsers, values: Values): SaslUsers {
  const password = values['SASLAuthenticationProvider.superPassword']
  return password === undefined || !users.has('super')
    ? users
    : new Map([...users, ['super', password]])
}

function quorumSasl(reading: Reading): QuorumSasl | undefined {
  const { values, sections, report, at } = reading
  const isRequired = values['quorum.auth.serverRequireSasl']
  const dials = values['quorum.auth.learnerRequireSasl']
  if (isRequired && !dials) {
    const message = 'is true, so quorum.auth.learnerRequireSasl must be: servers connect both ways'
    report.error(at('quorum.auth.serverRequireSasl'), message)
  }
  const file = values['quorum.auth.usersFile']
  if (file !== undefined) {
    const users = readUsersFile(file, at('quorum.auth.usersFile'), report)
    if (users === undefined) return undefined
    const [first] = users
    const own = first === undefined ? undefined : { username: first[0], password: first[1] }
    return { own: dials ? own : undefined, users, isRequired }
  }
  if (sections === undefined) {
    if (values['java.security.auth.login.config'] === undefined) {
      const message = 'needs quorum.auth.usersFile, or java.security.auth.login.config'
      report.error(at('quorum.auth.enableSasl'), message)
    }
    return undefined
  }
  const section = (key: KeyName, name: string): ReadonlyMap<string, string> | undefined => {
    const entries = sections.get(name)
    if (entries !== undefined) return digestOptions(entries, name, reading)
    report.error(at(key), `there is no section ${name} in the JAAS file`)
    return undefined
  }
  const serverKey = 'quorum.auth.server.saslLoginContext'
  const learnerKey = 'quorum.auth.learner.saslLoginContext'
  const accepting = section(serverKey, values[serverKey])
  const dialling = section(learnerKey, values[learnerKey])
  const username = dialling?.get('username')
  const password = dialling?.get('password')
  if (dialling !== undefined && (username === undefined || password === undefined)) {
    report.error(at(learnerKey), `the section ${values[learnerKey]} has no username or no password`)
  }
  const own =
    dials && username !== undefined && password !== undefined ? { username, password } : undefined
  return { own, users: accepting === undefined ? noUsers : usersOf(accepting), isRequired }
}

function checkUnused({ values, report, at }: Reading): void {
  for (const name of ['quorum.auth.learnerRequireSasl', 'quorum.auth.serverRequireSasl'] as const) {
    if (values[name]) report.error(at(name), 'is true, but quorum.auth.enableSasl is not')
  }
}

/** The options of the one module that lists users and passwords. */
function digestOptions(
  entries: readonly JaasEntry[],
  name: string,
  { report, at }: Reading,
): ReadonlyMap<string, string> | undefined {
  const origin = at('java.security.auth.login.config')
  const options = new Map<string, string>()
  for (const entry of entries) {
    if (entry.module !== digestModule) {
      const isKerberos = entry.module.endsWith('.Krb5LoginModule')
      report.error(
        origin,
        isKerberos
          ? `the section ${name} asks for Kerberos, which zabra does not offer. Use DIGEST-MD5 ` +
              `(${digestModule}) or TLS with client certificates.`
          : `the section ${name} asks for ${entry.module}, which cannot be loaded`,
      )
      return undefined
    }
    for (const [key, value] of entry.options) options.set(key, value)
  }
  return options
}

function usersOf(options: ReadonlyMap<string, string>): SaslUsers {
  const users = new Map<string, string>()
  for (const [key, value] of options) {
    if (key.startsWith(userPrefix)) users.set(key.slice(userPrefix.length), value)
  }
  return users
}

/** Lines of `name=password`; the password is everything after the first `=`, spaces included. */
function readUsersFile(file: string, origin: Origin, report: Diagnostics): SaslUsers | undefined {
  const read = readText(file)
  if ('problem' in read) {
    report.error(origin, `${file}: ${read.problem}`)
    return undefined
  }
  const users = new Map<string, string>()
  for (const [index, line] of read.text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const equals = line.indexOf('=')
    const name = line.slice(0, equals).trim()
    const place = { file, line: index + 1 }
    if (equals < 0 || name === '') report.error(place, 'expected name=password')
    else if (users.has(name)) report.error(place, `the user ${name} has an earlier line`)
    else users.set(name, line.slice(equals + 1))
  }
  if (users.size === 0) report.error({ file }, 'has no users')
  return users
}
