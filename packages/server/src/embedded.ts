import { formatDiagnostic, loadConfig, type Overrides } from './config/config.ts'
import { eventLogger } from './base/event-logger.ts'
import { silent, type Logger } from './base/logger.ts'
import { RunningServer } from './running/running-server.ts'

/** The settings of an embedded server by their names in zoo.cfg, and its environment. */
export interface StartOptions {
  /**
   * `clientPort`, `tickTime`, `dataDir`, `server.1` ... as in zoo.cfg. Port 0 is any free one.
   */
  readonly config?: Overrides
  /** Store nothing on disk. The default unless `dataDir` is set. */
  readonly inMemory?: boolean
  readonly logger?: Logger
}

/**
 * Starts a server inside this process: by default on a free port of the loopback interface, in
 * memory, without an admin port. Resolves once it serves.
 */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const { logger = silent, config: given = {} } = options
  const inMemory = options.inMemory ?? given['dataDir'] === undefined
  const defaults: Overrides = {
    clientPort: 0,
    clientPortAddress: '127.0.0.1',
    ...(given['secureClientPort'] === undefined ? {} : { secureClientPortAddress: '127.0.0.1' }),
    maxClientCnxns: 0,
    'admin.enableServer': 'false',
    // The application shares the event loop.
    idlePollMicros: 0,
    ...(inMemory ? { dataDir: '/memory' } : {}),
  }
  const isMember = (key: string): boolean => /^(server|group|weight)\.\d+$/.test(key)
  const members = Object.entries(given).filter(([key]) => isMember(key))
  const settings = Object.entries(given).filter(([key]) => !isMember(key))
  const { config, diagnostics } = loadConfig({
    env: {},
    overrides: { ...defaults, ...Object.fromEntries(settings) },
    ...(members.length === 0
      ? {}
      : { text: members.map(([key, value]) => `${key}=${value}\n`).join('') }),
  })
  if (config === undefined) {
    const problems = diagnostics.filter(({ severity }) => severity === 'error')
    throw new Error(problems.map(formatDiagnostic).join('\n'))
  }
  for (const diagnostic of diagnostics) {
    if (diagnostic.severity !== 'warning') continue
    const problem = formatDiagnostic(diagnostic)
    eventLogger(logger).warn('config: questionable setting', { problem })
  }
  return RunningServer.start(config, { logger, inMemory })
}
