import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopback } from '../../config/loopback.ts'
import type { ServerView } from '../../view/server-view.ts'
import { refuseMethod, sendText } from '../../http/http-server.ts'
import { writeJson, type Json } from '../json.ts'
import { joinInSlices } from '../slices.ts'
import { Authorization, type Refusal } from '../../http/authorization.ts'
import { BrowserGuard } from '../../http/browsers.ts'
import { commands, findCommand, type Answer } from './commands.ts'
import { notServing } from '../words.ts'
import { RateLimit } from './rate-limit.ts'
import { restore } from './restore.ts'
import { takeSnapshot } from './snapshot.ts'

const snapshotType = 'application/octet-stream'

/** ZooKeeper's admin commands over HTTP. */
export class CommandHandler {
  private readonly view: ServerView
  private readonly snapshotLimit: RateLimit
  private readonly restoreLimit: RateLimit
  private readonly authorization: Authorization
  private readonly browsers: BrowserGuard
  /** Only who is on this machine can ask. */
  private readonly isLocal: boolean

  constructor(view: ServerView) {
    this.view = view
    this.authorization = new Authorization(view)
    this.browsers = new BrowserGuard(view.config)
    this.isLocal = isLoopback(view.config.admin.address)
    this.snapshotLimit = new RateLimit(view.config.admin.rateLimitIntervalMs)
    this.restoreLimit = new RateLimit(view.config.admin.rateLimitIntervalMs)
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
    // ZooKeeper's commands that change something are asked for with GET; a page of a browser
    // cannot send the header that they need.
    if (command.isPost === true ? isGet : !isGet && command.isPrivileged !== true) {
      return refuseMethod(response, isGet ? 'POST' : 'GET, HEAD')
    }
    const { name } = command
    if (name === 'snapshot') return this.snapshot(parameters, response)
    if (name === 'hand_over') return this.handOver(response)
    if (name === 'restore') return this.restore(request, response)
    const answer = await command.run(this.view, parameters)
    await send(response, 200, finished(name, answer))
  }

  private list(response: ServerResponse): void {
    const { commandUrl } = this.view.config.admin
    const names = commands.map(({ name }) => name).toSorted()
    const links = names.map((name) => `<a href="${commandUrl}/${name}">${name}</a>\n<br/>\n`)
    sendText(response, 200, links.join(''), 'text/html; charset=utf-8')
  }

  /** Leadership goes to another server, and this one stays. */
  private async handOver(response: ServerResponse): Promise<void> {
    const outcome = await this.view.handOver()
    if ('leader' in outcome) return send(response, 200, finished('hand_over', outcome))
    return refuse(response, 'hand_over', { status: 503, error: outcome.problem })
  }

  private async snapshot(parameters: URLSearchParams, response: ServerResponse): Promise<void> {
    const isStreaming = (parameters.get('streaming') ?? 'true').toLowerCase() === 'true'
    const outcome = await takeSnapshot(this.view, this.snapshotLimit, isStreaming, response)
    if (outcome === 'sent') return
    if (outcome === 'taken') return send(response, 200, finished('snapshot', {}))
    return refuse(response, 'snapshot', outcome)
  }

  private async restore(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers['content-type']?.split(';', 1)[0]?.trim() !== snapshotType) {
      const error = `Content-Type must be ${snapshotType}`
      return refuse(response, 'restore', { status: 415, error })
    }
    const outcome = await restore(this.view, this.restoreLimit, request)
    if (isRefusal(outcome)) return refuse(response, 'restore', outcome)
    return send(response, 200, finished('restore', outcome))
  }
}

function isRefusal(outcome: Refusal | Answer): outcome is Refusal {
  return 'status' in outcome
}

function finished(command: string, answer: Answer): Json {
  return 'error' in answer ? { ...answer, command } : { ...answer, command, error: null }
}

function refuse(response: ServerResponse, command: string, refusal: Refusal): Promise<void> {
  // What was sent along is not read, so nothing can follow it on this connection.
  response.shouldKeepAlive = false
  return send(response, refusal.status, { command, error: refusal.error })
}

async function send(response: ServerResponse, status: number, json: Json): Promise<void> {
  sendText(response, status, await joinInSlices(writeJson(json)), 'application/json')
}
