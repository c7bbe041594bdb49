import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { RecoveryError } from '@zabra/core'
import { flags, formatDiagnostic, keyOf, loadConfig, type Overrides } from './config/config.ts'
import { DirectoryInUseError } from './disk/lock.ts'
import { eventLogger } from './base/event-logger.ts'
import { outliveStreams, stderrLogger, writeOrLose } from './base/logger.ts'
import { RunningServer } from './running/running-server.ts'
import { StartError } from './base/start-error.ts'

const usage = `Usage: zabra server [zoo.cfg] [options]

Runs a ZooKeeper server in the foreground until SIGTERM or SIGINT. Without a file it listens on
port 2181 and keeps its data in ./data.

Options, each followed by a value, with the setting of zoo.cfg that it overrides:
${[...flags].map(([flag, key]) => `  ${flag.padEnd(22)} ${key}: ${firstSentence(keyOf(key).docs)}`).join('\n')}
  --help                 Print this text.

Every setting of zoo.cfg can also come from the environment (clientPort as ZABRA_CLIENT_PORT),
and system properties from SERVER_JVMFLAGS and JVMFLAGS (-Dname=value), as with Apache's scripts.
`

function firstSentence(text: string): string {
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
}

/** The command `zabra server`: resolves with the exit code when the server has stopped. */
export async function runServer(args: readonly string[]): Promise<number> {
  const { stdout, stderr } = process
  outliveStreams(stdout, stderr)
  const command = parseArguments(args)
  if (typeof command === 'string') {
    writeOrLose(stderr, `zabra server: ${command}\n\n${usage}`)
    return 2
  }
  if (command.wantsHelp) {
    writeOrLose(stdout, usage)
    return 0
  }
  const { config, diagnostics } = loadConfig({
    ...(command.file === undefined ? {} : { file: command.file }),
    env: process.env,
    overrides: command.overrides,
  })
  for (const diagnostic of diagnostics) writeOrLose(stderr, `${formatDiagnostic(diagnostic)}\n`)
  if (config === undefined) return 2
  const started = performance.now()
  try {
    const server = await RunningServer.start(config, { logger: stderrLogger, inMemory: false })
    // Registered before the announcement, because its reader may send the signal at once.
    const stopSignal = firstStopSignal()
    announce(server, performance.now() - started)
    // Few objects on the heap live long, so collecting earlier costs less than the memory it saves.
    // Not before this point: while a snapshot is loaded hardly anything can be collected.
    setFlagsFromString('--heap-growing-percent=80')
    // A request goes through many small functions. With this limit V8 inlines five times as many of
    // them as by default, which saves a tenth of the time of a request. Not before this point:
    // compiling that much would slow down the start.
    setFlagsFromString('--max-inlined-bytecode-size-cumulative=4600')
    return await untilStopped(server, stopSignal)
  } catch (error) {
    const known =
      error instanceof RecoveryError ||
      error instanceof DirectoryInUseError ||
      error instanceof StartError ||
      (error as { code?: unknown }).code !== undefined
    const { message, stack } = error as Error
    writeOrLose(stderr, `zabra server: ${known ? message : (stack ?? message)}\n`)
    return 1
  }
}

function announce(server: RunningServer, tookMs: number): void {
  const { config } = server
  const hasPort = config.clientPort !== undefined
  const hasSecurePort = config.tls.port !== undefined
  const what = hasPort
    ? `serves ZooKeeper clients on ${server.connectString}`
    : hasSecurePort
      ? `serves ZooKeeper clients on ${server.secureConnectString}, with TLS only`
      : 'runs, but no client port is open'
  const lines = [
    `zabra ${what} (ready in ${Math.round(tookMs)} ms)`,
    `  data      ${resolve(config.dataDir)}`,
  ]
  if (config.dataLogDir !== config.dataDir) lines.push(`  logs      ${resolve(config.dataLogDir)}`)
  if (hasPort && hasSecurePort) lines.push(`  TLS       ${server.secureConnectString}`)
  if (server.adminAddress !== undefined) lines.push(`  admin     ${server.adminAddress}`)
  if (server.consoleAddress !== undefined) lines.push(`  console   ${server.consoleAddress}`)
  if (server.metricsAddress !== undefined) lines.push(`  metrics   ${server.metricsAddress}`)
  if (hasPort) lines.push(`  connect   zabra shell --servers ${server.connectString}`)
  writeOrLose(process.stdout, `${lines.join('\n')}\n`)
}

/** From now on the first signal to stop does not end the process. */
function firstStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((onSignal) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, onSignal)
  })
}

async function untilStopped(
  server: RunningServer,
  stopSignal: Promise<NodeJS.Signals>,
): Promise<number> {
  const outcome = await Promise.race([
    stopSignal.then((name) => ({ name })),
    server.failed.catch((error: Error) => ({ error })),
  ])
  const logger = eventLogger(stderrLogger)
  if ('error' in outcome) {
    logger.error('server: stopping after a failure', { error: outcome.error.message })
    return 1
  }
  logger.info('server: stopping', { signal: outcome.name })
  await server.stop()
  logger.info('server: stopped, all acknowledged writes are on disk')
  return 0
}

interface Command {
  readonly file: string | undefined
  readonly overrides: Overrides
  readonly wantsHelp: boolean
}

function parseArguments(args: readonly string[]): Command | string {
  const overrides: Record<string, string> = {}
  let file: string | undefined
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    if (arg === '--help' || arg === '-h') return { file, overrides, wantsHelp: true }
    if (!arg.startsWith('-')) {
      if (file !== undefined) return `one configuration file at most, not ${file} and ${arg}`
      file = arg
      continue
    }
    const equals = arg.indexOf('=')
    const flag = equals < 0 ? arg : arg.slice(0, equals)
    const key = flags.get(flag)
    if (key === undefined) return `unknown option ${flag}`
    const value = equals < 0 ? args[++i] : arg.slice(equals + 1)
    if (value === undefined) return `${flag} needs a value`
    overrides[key] = value
  }
  return { file, overrides, wantsHelp: false }
}
