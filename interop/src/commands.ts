/** How to run a server: this workspace's, Apache's, or any other. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Apache } from './apache.ts'

export interface ServerCommand {
  /** Short, for reports: `zabra`, `apache-3.9`. */
  readonly name: string
  /**
   * A program and its arguments; it gets a zoo.cfg as its last argument and serves until SIGTERM.
   */
  command(properties: readonly string[]): readonly string[]
}

const workspace = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** This workspace's server, run like an installed one. */
export function zabraCommand(): ServerCommand {
  return anyCommand('zabra', [join(workspace, 'bin', 'zabra'), 'server'])
}

/**
 * This workspace's server from its sources, as tests run it; `serve.ts` describes what `env` can
 * change.
 */
export function zabraFromSources(env: Readonly<Record<string, string>> = {}): ServerCommand {
  const script = join(workspace, 'packages', 'server', 'test', 'support', 'serve.ts')
  const options = ['--conditions=@zabra/source', '--import', import.meta.resolve('tsx')]
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return anyCommand('zabra', ['env', ...variables, process.execPath, ...options, script])
}

/** Any other server. It gets Java properties in `SERVER_JVMFLAGS`, as with Apache's scripts. */
export function anyCommand(name: string, command: readonly string[]): ServerCommand {
  return { name, command: () => command }
}

/** Makes Apache's server start fast rather than run fast. */
const quickStart = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

export function apacheCommand(
  apache: Apache,
  jvmFlags: readonly string[] = quickStart,
): ServerCommand {
  const flags = [
    ...jvmFlags,
    '-Dzookeeper.jmx.log4j.disable=true',
    // Otherwise it logs each session.
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    '-Dfile.encoding=UTF-8',
  ]
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
  return {
    name: `apache-${apache.version}`,
    command: (properties) => {
      const given = properties.map((property) => `-D${property}`)
      return ['java', ...flags, ...given, '-cp', apache.classPath, main]
    },
  }
}
