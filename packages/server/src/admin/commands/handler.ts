import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopback } from '../../config/loopback.ts'
import type { ServerView } from '../../view/server-view.ts'
import { refuseMethod, sendText } from '../../http/http-server.ts'
import { writeJson, type Json } from '../json.ts'
import { joinInSlices } from '../slices.ts'
import { Authorization, type Refusal } from '../../http/authorization.ts'
import { BrowserGuard } from '../../http/browsers.ts'
import { notServing } from '../words.ts'
import { Refused, type Answer, type Command } from './command.ts'
import { commands, findCommand } from './commands.ts'
import { RateLimit } from './rate-limit.ts'

/** ZooKeeper's admin commands over HTTP. */
export class CommandHandler {
  private readonly view: ServerView
  private readonly rateLimits: ReadonlyMap<Command, RateLimit>
  private readonly authorization: Authorization
  private readonly browsers: BrowserGuard
  /** The port is on loopback: only processes of this machine reach it. */
  private readonly isLocal: boolean

  constructor(view: ServerView) {
    this.view = view
    this.authorization = new Authorization(view)
    this.browsers = new BrowserGuard(view.config)
    this.isLocal = isLoopback(view.config.admin.address)
    const { rateLimitIntervalMs } = view.config.admin
    this.rateLimits = new Map(
      commands.map((command) => [command, new RateLimit(rateLimitIntervalMs)]),
    )
  }

  async answer(
    given: string,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { method = 'GET' } = request
    const isGet = method === 'GET' || method === 'HEAD'
    const foreign = this.browsers.refuse(request)
    if (foreign !== undefined) return refuse(response, given, foreign)
    if (!isGet && method !== 'POST') return refuseMethod(response, 'GET, HEAD, POST')
    if (given === '') return isGet ? this.list(response) : refuseMethod(response, 'GET, HEAD')
    const command = findCommand(given)
    if (command === undefined) {
      return send(response, 200, { command: given, error: `Unknown command: ${given}` })
    }
    if (command.isAlwaysAnswered !== true && !this.view.peer.isServing) {
      return send(response, 200, { command: given, error: notServing })
    }
    if (command.isPrivileged === true || (command.isPrivate === true && !this.isLocal)) {
      const refusal = await this.authorization.refuse(request)
      if (refusal !== undefined) return refuse(response, given, refusal)
    }
    // ZooKeeper allows GET for its commands that change something. That is safe: a web page cannot
    // send the Authorization header that they need.
    if (command.isPost === true ? isGet : !isGet && command.isPrivileged !== true) {
      return refuseMethod(response, isGet ? 'POST' : 'GET, HEAD')
    }
    const { name } = command
    const rateLimit = this.rateLimits.get(command)!
    const outcome = await command.run(this.view, { parameters, request, response, rateLimit })
    if (outcome === 'sent') return
    if (outcome instanceof Refused) return refuse(response, name, outcome.refusal)
    await send(response, 200, finished(name, outcome))
  }

  private list(response: ServerResponse): void {
    const { commandUrl } = this.view.config.admin
    const names = commands.map(({ name }) => name).toSorted()
    const links = names.map((name) => `<a href="${commandUrl}/${name}">${name}</a>\n<br/>\n`)
    sendText(response, 200, links.join(''), 'text/html; charset=utf-8')
  }
}

function finished(command: string, answer: Answer): Json {
  return 'error' in answer ? { ...answer, command } : { ...answer, command, error: null }
}

function refuse(response: ServerResponse, command: string, refusal: Refusal): Promise<void> {
  // The request body is not read, so no other request can follow on this connection.
  response.shouldKeepAlive = false
  return send(response, refusal.status, { command, error: refusal.error })
}

async function send(response: ServerResponse, status: number, json: Json): Promise<void> {
  sendText(response, status, await joinInSlices(writeJson(json)), 'application/json')
}
