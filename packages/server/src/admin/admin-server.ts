import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EventLogger } from '../base/event-logger.ts'
import type { ServerView } from '../view/server-view.ts'
import { ApiHandler } from '../api/handler.ts'
import { isLoopback } from '../config/loopback.ts'
import { BrowserGuard } from '../http/browsers.ts'
import { isOfConsole, serveConsole } from './console.ts'
import { CommandHandler } from './commands/handler.ts'
import {
  listenHttp,
  refuseMethod,
  sendText,
  type Handler,
  type HttpServer,
} from '../http/http-server.ts'
import { metricsText, metricsType } from './metrics/prometheus.ts'
import { readiness } from './probes.ts'
import type { HttpSecurity } from '../http/secure-http.ts'

interface AdminLoggers {
  readonly logger: EventLogger
  /** Without a limit of lines: no change by the API goes unlogged. */
  readonly startLogger: EventLogger
}

/** The HTTP ports of a server: commands, probes, metrics, the API and the console. */
export class AdminServer {
  private readonly view: ServerView
  private readonly logger: EventLogger
  private readonly security: HttpSecurity | undefined
  private readonly api: ApiHandler | undefined
  private adminPort: HttpServer | undefined
  private metricsPort: HttpServer | undefined

  constructor(
    view: ServerView,
    { logger, startLogger }: AdminLoggers,
    security: HttpSecurity | undefined,
  ) {
    const { admin, api } = view.config
    this.view = view
    this.logger = logger
    this.security = security
    this.api = admin.enabled && api.enabled ? new ApiHandler(view, startLogger) : undefined
  }

  /** Opens the configured ports. */
  async open(): Promise<void> {
    const { view, logger, security, api } = this
    const { admin, metrics } = view.config
    const { idleTimeoutMs } = admin
    const onTooMany = (): void => void view.peer.stats.limitsReached.http_connections++
    const common = { idleTimeoutMs, security, onTooMany }
    if (admin.enabled) {
      const { address: host, port } = admin
      const options = { name: 'admin', host, port, ...common }
      this.adminPort = await listenHttp(adminHandler(view, api), options, logger)
      if (this.adminPort === undefined) api?.stop()
    }
    if (metrics.enabled) {
      const options = { name: 'metrics', ...metrics, ...common }
      this.metricsPort = await listenHttp(metricsHandler(view), options, logger)
    }
  }

  /** The URL of commands, probes and metrics; undefined if the port is off. */
  get url(): string | undefined {
    return this.adminPort?.url
  }

  /** The URL of the console; undefined if it is off. */
  get consoleUrl(): string | undefined {
    return this.api === undefined || this.url === undefined ? undefined : `${this.url}/`
  }

  get consolePort(): number | undefined {
    return this.consoleUrl === undefined ? undefined : Number(new URL(this.consoleUrl).port)
  }

  /** The port of ZooKeeper's Prometheus provider; undefined if it is not configured. */
  get metricsUrl(): string | undefined {
    return this.metricsPort === undefined ? undefined : `${this.metricsPort.url}/metrics`
  }

  async stop(): Promise<void> {
    this.api?.stop()
    await Promise.all([this.adminPort?.stop(), this.metricsPort?.stop()])
  }
}

function adminHandler(view: ServerView, api: ApiHandler | undefined): Handler {
  const { commandUrl } = view.config.admin
  const commands = new CommandHandler(view)
  const pages = pagesOf(view)
  const browsers = new BrowserGuard(view.config)
  return async (request, response) => {
    const url = urlOf(request)
    const { pathname, searchParams } = url
    const page = pages.get(pathname)
    if (page !== undefined) {
      // Orchestrators and Prometheus use any host name for these.
      const refusal = isLoopback(view.config.admin.address) ? browsers.refuse(request) : undefined
      if (refusal !== undefined) return sendText(response, refusal.status, `${refusal.error}\n`)
      return servePage(page, request, response)
    }
    if (pathname === commandUrl || pathname.startsWith(`${commandUrl}/`)) {
      const name = pathname.slice(commandUrl.length + 1)
      return commands.answer(name, searchParams, request, response)
    }
    if (api !== undefined && pathname.startsWith('/api/')) {
      return api.answer(url, request, response)
    }
    if (api !== undefined && isOfConsole(pathname)) {
      // The page itself contains no data, but its origin must be a name of this server.
      const refusal = browsers.refuseHost(request)
      if (refusal !== undefined) return sendText(response, refusal.status, `${refusal.error}\n`)
      return serveConsole(pathname, request, response, await api.originsOfMembers(request))
    }
    sendText(response, 404, 'not found\n')
  }
}

function metricsHandler(view: ServerView): Handler {
  return async (request, response) => {
    if (urlOf(request).pathname !== '/metrics') return sendText(response, 404, 'not found\n')
    await servePage(metricsPage(view), request, response)
  }
}

interface Page {
  readonly status: number
  readonly text: string
  readonly type?: string
}
type MakePage = () => Page | Promise<Page>

/** Endpoints that are not ZooKeeper commands: for orchestrators and for Prometheus. */
function pagesOf(view: ServerView): ReadonlyMap<string, MakePage> {
  return new Map<string, MakePage>([
    ['/livez', () => ({ status: 200, text: 'ok\n' })],
    ['/readyz', () => readiness(view)],
    ['/metrics', metricsPage(view)],
  ])
}

function metricsPage(view: ServerView): MakePage {
  return async () => ({ status: 200, text: await metricsText(view), type: metricsType })
}

async function servePage(
  make: MakePage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuseMethod(response, 'GET, HEAD')
  }
  const { status, text, type } = await make()
  sendText(response, status, text, type)
}

function urlOf(request: IncomingMessage): URL {
  // The request line may contain anything, even something that is no path.
  const url = request.url ?? '/'
  return URL.canParse(url, 'http://localhost')
    ? new URL(url, 'http://localhost')
    : new URL('http://localhost/')
}
