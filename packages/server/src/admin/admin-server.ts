import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../base/logger.ts'
import type { ServerView } from '../view/server-view.ts'
import { ApiHandler } from '../api/handler.ts'
import { isLoopback } from '../config/loopback.ts'
import { BrowserGuard } from '../http/browsers.ts'
import { isOfConsole, serveConsole } from './console.ts'
import { CommandHandler } from './commands/handler.ts'
import { listenHttp, refuseMethod, sendText, type Handler } from '../http/http-server.ts'
import { metricsText, metricsType } from './metrics/prometheus.ts'
import { readiness } from './probes.ts'
import type { HttpSecurity } from '../http/secure-http.ts'

export interface AdminServer {
  /** Where commands, probes and metrics are answered, if they are. */
  readonly url: string | undefined
  /** Where the console is, if it is on. */
  readonly consoleUrl: string | undefined
  /** The metrics port that ZooKeeper's Prometheus provider has, where it is asked for. */
  readonly metricsUrl: string | undefined
  stop(): Promise<void>
}

/** The HTTP ports, where they are wanted. */
export async function startAdmin(
  view: ServerView,
  logger: Logger,
  security?: HttpSecurity,
): Promise<AdminServer | undefined> {
  const { admin, metrics } = view.config
  const { idleTimeoutMs } = admin
  const adminPort = {
    name: 'the admin port',
    host: admin.address,
    port: admin.port,
    idleTimeoutMs,
    security,
  }
  const metricsPort = { name: 'the metrics port', ...metrics, idleTimeoutMs, security }
  const api = admin.enabled && view.config.api.enabled ? new ApiHandler(view, logger) : undefined
  const commands = admin.enabled
    ? await listenHttp(adminHandler(view, api), adminPort, logger)
    : undefined
  const exporter = metrics.enabled
    ? await listenHttp(metricsHandler(view), metricsPort, logger)
    : undefined
  if (commands === undefined) api?.stop()
  if (commands === undefined && exporter === undefined) return undefined
  return {
    url: commands?.url,
    consoleUrl: api === undefined || commands === undefined ? undefined : `${commands.url}/`,
    metricsUrl: exporter === undefined ? undefined : `${exporter.url}/metrics`,
    async stop() {
      api?.stop()
      await Promise.all([commands?.stop(), exporter?.stop()])
    },
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
      // Elsewhere orchestrators and Prometheus ask for them by any name.
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
      // The page itself tells nothing, but its origin must be one of this server.
      const refusal = browsers.refuseHost(request)
      if (refusal !== undefined) return sendText(response, refusal.status, `${refusal.error}\n`)
      return serveConsole(pathname, request, response)
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

/** What is not a command of ZooKeeper's: for orchestrators and for Prometheus. */
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
  // What stands in the request line may be anything, also something that is no path.
  const url = request.url ?? '/'
  return URL.canParse(url, 'http://localhost')
    ? new URL(url, 'http://localhost')
    : new URL('http://localhost/')
}
