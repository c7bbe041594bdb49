import { readFileSync } from 'node:fs'
import { connectionOptions } from '../connection/options.ts'
import {
  connectionSettings,
  type ConnectionSettings,
  type ConnectionValues,
} from '../connection/settings.ts'
import type { TlsFiles } from '../connection/target.ts'
import { defineCommand, type Command } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { kebab } from '../framework/names.ts'
import { parse } from '../framework/parse.ts'

/** How a shell was started. */
export interface StartOptions {
  readonly settings: ConnectionSettings
  /** A command to carry out, and leave. */
  readonly words: readonly string[]
  readonly waitsForConnection: boolean
  readonly color: string | undefined
  readonly wantsHelp: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** The options of zkCli.sh and those of other commands of zabra, then a command. */
export function startOptions(args: readonly string[], env: Env): StartOptions {
  const own: string[] = []
  let timeoutMs: number | undefined
  let waitsForConnection = false
  let configured: TlsFiles | undefined
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at]!
    if (!arg.startsWith('-')) break
    if (arg === '-waitforconnection') waitsForConnection = true
    else if (arg === '-r' || arg === '-readonly') own.push('--read-only')
    else if (arg === '-server') own.push('--servers', valueOf(args, ++at, arg))
    else if (arg === '-timeout') timeoutMs = Number(valueOf(args, ++at, arg))
    else if (arg === '-client-configuration') configured = tlsInFile(valueOf(args, ++at, arg))
    else if (arg === '-h' || arg === '-help') own.push('--help')
    else {
      own.push(arg)
      if (takesValue(arg)) own.push(valueOf(args, ++at, arg))
    }
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new UsageError('-timeout is a session timeout in milliseconds')
  const { options } = parse(shellOptions, own)
  const settings = connectionSettings(options as ConnectionValues, env)
  return {
    settings: {
      ...settings,
      tls: settings.tls ?? configured,
      sessionTimeoutMs: timeoutMs ?? settings.sessionTimeoutMs,
    },
    words: args.slice(at),
    waitsForConnection,
    color: options['color'] as string | undefined,
    wantsHelp: options['help'] === true,
  }
}

const shellOptions: Command = defineCommand({ examples: [], run: () => Promise.resolve() })

function takesValue(arg: string): boolean {
  if (arg === '--color') return true
  return Object.entries(connectionOptions).some(
    ([key, { type }]) => type !== 'flag' && arg === `--${kebab(key)}`,
  )
}

function valueOf(args: readonly string[], at: number, name: string): string {
  const value = args[at]
  if (value === undefined) throw new UsageError(`${name} needs a value`)
  return value
}

/** The properties of Java clients that are about TLS. */
function tlsInFile(file: string): TlsFiles | undefined {
  const properties = new Map(
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !/^[#!]/.test(line))
      .map((line) => {
        const [, name = '', value = ''] = /^([^=:\s]+)\s*[=:\s]\s*(.*)$/.exec(line) ?? []
        return [name, value] as const
      }),
  )
  if (properties.get('zookeeper.client.secure') !== 'true') return undefined
  const pem = (name: string): string | undefined => {
    const location = properties.get(`zookeeper.ssl.${name}.location`)
    if (location === undefined) return undefined
    const type = properties.get(`zookeeper.ssl.${name}.type`)
    if (type === 'PEM' || location.endsWith('.pem')) return location
    throw new CommandError(`${location} is a ${type ?? 'Java'} store, and zabra reads PEM only`, {
      hint: 'keytool and openssl convert it; --tls-ca, --tls-cert and --tls-key name PEM files',
    })
  }
  const key = pem('keyStore')
  const ca = pem('trustStore')
  const checksNames = properties.get('zookeeper.ssl.hostnameVerification') !== 'false'
  return { ca, cert: key, key, ...(checksNames ? {} : { anyName: true }) }
}
