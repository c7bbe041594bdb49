import { hex } from '@zabra/core'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BrowserGuard } from '../http/browsers.ts'
import { addressOf } from '../http/authorization.ts'
import { refuseMethod } from '../http/http-server.ts'
import type { EventLogger } from '../base/event-logger.ts'
import type { ServerView } from '../view/server-view.ts'
import { ApiError, badRequest, notServing, toApiError } from './api-error.ts'
import { Clients } from './clients.ts'
import { HistoryDesk } from './history/desk.ts'
import { LiveChanges } from './history/live-changes.ts'
import type { InternalClient } from './internal-client.ts'
import { MemberOrigins } from './member-origins.ts'
import { MetricsRing } from './metrics-ring.ts'
import { apiRoot, openApi } from './openapi.ts'
import { includes, maySeePrivate, type Role } from './roles.ts'
import { Query, readBody, streamed, type Call, type Route, type Services } from './route.ts'
import { routes } from './routes/index.ts'
import { problemOf } from './schema.ts'
import { StreamLimits } from './stream.ts'
import { Surveyor } from './survey.ts'

const jsonType = 'application/json'
const bytesType = 'application/octet-stream'
/** Bytes for base64 and the other members of a body, in addition to the data itself. */
const bodyOverhead = 65_536

/** The HTTP API below `/api` of the admin port. */
export class ApiHandler {
  private readonly services: Services
  private readonly browsers: BrowserGuard
  private readonly origins: MemberOrigins
  private readonly logger: EventLogger
  private readonly document = JSON.stringify(openApi(routes))
  private readonly table = new Map<string, Route[]>()

  constructor(view: ServerView, logger: EventLogger) {
    this.services = {
      view,
      clients: new Clients(view, logger),
      metrics: new MetricsRing(view),
      desk: new HistoryDesk(view),
      live: new LiveChanges(view),
      surveyor: new Surveyor(view),
      streams: new StreamLimits(() => view.peer.stats.limitsReached.event_streams++),
    }
    this.browsers = new BrowserGuard(view.config)
    this.origins = new MemberOrigins(view)
    this.logger = logger
    for (const route of routes) {
      const path = `${apiRoot}${route.path}`
      this.table.set(path, [...(this.table.get(path) ?? []), route])
    }
  }

  /** Other origins that pages of this server may connect to: the APIs of the other members. */
  async originsOfMembers({ socket }: IncomingMessage): Promise<readonly string[]> {
    const scheme = 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'
    return (await this.origins.hosts()).map((host) => `${scheme}://${host}`)
  }

  /** Whether a page of a foreign origin is the console of another member. */
  private async isOfMember(request: IncomingMessage): Promise<boolean> {
    const { origin } = request.headers
    if (origin === undefined || this.browsers.refuseHost(request) !== undefined) return false
    return this.origins.includes(origin)
  }

  stop(): void {
    this.services.clients.stop()
    this.services.metrics.stop()
  }

  async answer(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.dispatch(url, request, response)
    } catch (error) {
      const refusal = toApiError(error, url.searchParams.get('path') ?? undefined)
      if (refusal === undefined) throw error
      refuse(response, refusal)
    }
  }

  private async dispatch(
    { pathname, searchParams }: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { method = 'GET' } = request
    const foreign = this.browsers.refuse(request)
    if (foreign !== undefined) {
      if (!(await this.isOfMember(request))) {
        throw new ApiError(foreign.status, 'foreign', foreign.error)
      }
      allowOrigin(request, response)
      if (method === 'OPTIONS') {
        response.writeHead(204).end()
        return
      }
    }
    if (pathname === '/api/openapi.json') {
      if (method !== 'GET' && method !== 'HEAD') return refuseMethod(response, 'GET, HEAD')
      return sendJson(response, 200, this.document)
    }
    const candidates = this.table.get(pathname)
    if (candidates === undefined) throw new ApiError(404, 'noRoute', `There is no ${pathname}`)
    const wanted = method === 'HEAD' ? 'GET' : method
    const route = candidates.find((each) => each.method === wanted)
    if (route === undefined) {
      return refuseMethod(response, candidates.map((each) => each.method).join(', '))
    }
    await this.run(route, searchParams, request, response)
  }

  private async run(
    route: Route,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { services } = this
    const query = new Query(parameters, route.parameters)
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    const isBytes = route.takesBytes === true && type === bytesType
    // A page of another origin cannot send these types without a preflight request.
    if (route.method !== 'GET' && type !== jsonType && !isBytes) {
      const types = route.takesBytes === true ? `${jsonType} or ${bytesType}` : jsonType
      throw new ApiError(415, 'contentType', `Content-Type must be ${types}`)
    }
    const allows = (role: Role): boolean =>
      route.role === 'private' ? maySeePrivate(services.view, role) : includes(role, route.role)
    this.noteApplied(response)
    const isAnonymous = (request.headers.authorization ?? '').trim() === ''
    if (isAnonymous && !allows(services.clients.anonymous)) throw denied(true)
    // Read only now: an anonymous caller without the role is refused before its body is read.
    const body =
      route.method === 'GET'
        ? { body: undefined, bytes: undefined }
        : await this.bodyOf(route, request, isBytes)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = gone.signal
    const base = { ...services, request, response, signal, query, ...body }
    if (route.isAlwaysAnswered === true && !services.view.peer.isServing) {
      const role = services.clients.roleWithoutSession(request)
      if (!allows(role)) throw denied(isAnonymous)
      return this.carryOut(route, { ...base, role, client: undefined })
    }
    await services.clients.use(request, ({ client, role }) => {
      if (!allows(role)) throw denied(false)
      return this.carryOut(route, { ...base, role, client })
    })
  }

  private async carryOut(
    route: Route,
    { client, ...rest }: Omit<Call, 'client'> & { readonly client: InternalClient | undefined },
  ): Promise<void> {
    const call: Call = {
      ...rest,
      get client() {
        if (client === undefined) throw notServing()
        return client
      },
    }
    const answer = await route.handle(call)
    if (route.method !== 'GET' || route.isAudited === true) this.audit(route, call)
    if (answer === streamed) return
    this.noteApplied(call.response)
    sendJson(call.response, 200, JSON.stringify(answer))
  }

  /** Callers that change servers can see that the new one is not behind the old one. */
  private noteApplied(response: ServerResponse): void {
    const { peer } = this.services.view
    if (peer.isServing) response.setHeader('Zabra-Applied', hex(peer.lastZxid))
  }

  private async bodyOf(
    { body: schema }: Route,
    request: IncomingMessage,
    isBytes: boolean,
  ): Promise<Pick<Call, 'body' | 'bytes'>> {
    const dataMax = this.services.view.config.juteMaxBuffer
    const bytes = await readBody(request, Math.ceil((dataMax * 4) / 3) + bodyOverhead)
    if (isBytes) return { body: undefined, bytes }
    if (schema === undefined) return { body: undefined, bytes: undefined }
    let json: unknown
    try {
      json = JSON.parse(Buffer.from(bytes).toString())
    } catch {
      throw badRequest('The body is not JSON')
    }
    const problem = problemOf(schema, json)
    if (problem !== undefined) throw badRequest(problem)
    return { body: json, bytes: undefined }
  }

  /** Logs changes and who made them. */
  private audit({ method, path }: Route, { request, client, query, body }: Call): void {
    const user = client.identities
      .map(({ scheme, id }) => `${scheme}:${scheme === 'digest' ? id?.split(':')[0] : id}`)
      .join(',')
    const { path: inBody } = (body ?? {}) as { readonly path?: string }
    this.logger.info('api: made a change', {
      method,
      path,
      target: inBody ?? query.text('path') ?? query.text('id'),
      user,
      address: addressOf(request),
    })
  }
}

/** The CORS headers that let the console of another member use this API. */
function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '')
  response.setHeader('Vary', 'Origin')
  // The page presents its client certificate, which counts only with a header that it sends itself.
  response.setHeader('Access-Control-Allow-Credentials', 'true')
  response.setHeader(
    'Access-Control-Expose-Headers',
    'Content-Range, Date, ETag, Zabra-Applied, Zabra-Version, Zabra-Zxid',
  )
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE')
  response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, If-Range, Range')
  response.setHeader('Access-Control-Max-Age', '600')
}

function denied(isAnonymous: boolean): ApiError {
  return isAnonymous
    ? new ApiError(401, 'signIn', 'Credentials are needed for this; see api.anonymous')
    : new ApiError(
        403,
        'role',
        'These credentials do not allow this; see api.identities and admin.identities',
      )
}

function refuse(
  response: ServerResponse,
  { status, code, message, path, details }: ApiError,
): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  // The request body may not have been read, so no other request can follow on this connection.
  response.shouldKeepAlive = false
  // A scheme that browsers do not know; they would prompt for a password otherwise.
  if (status === 401) response.setHeader('WWW-Authenticate', 'zabra')
  const error = { code, message, ...(path === undefined ? {} : { path }), ...details }
  sendJson(response, status, JSON.stringify({ error }))
}

function sendJson(response: ServerResponse, status: number, json: string): void {
  const body = Buffer.from(json)
  response.writeHead(status, {
    'Content-Type': jsonType,
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}
