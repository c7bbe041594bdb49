import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from '../../http/authorization.ts'
import type { ServerView } from '../../view/server-view.ts'
import type { Json } from '../json.ts'
import type { RateLimit } from './rate-limit.ts'

/** The members of a command's JSON answer, in order; `error` says what went wrong. */
export type Answer = { readonly [name: string]: Json }

/** An answer with a status other than 200. */
export class Refused {
  readonly refusal: Refusal

  constructor(status: number, error: string) {
    this.refusal = { status, error }
  }
}

/** One request for a command. */
export interface Call {
  readonly parameters: URLSearchParams
  readonly request: IncomingMessage
  /** A command may set headers here, or send the whole response and return `sent`. */
  readonly response: ServerResponse
  /** A rate limit per command. */
  readonly rateLimit: RateLimit
}

export type Outcome = Answer | Refused | 'sent'

/** One admin command. The table in commands.ts has one entry for each. */
export interface Command {
  readonly name: string
  readonly aliases?: readonly string[]
  /** Clients send POST instead of GET. */
  readonly isPost?: boolean
  /** Changes the server, or returns all its data: only for administrators. */
  readonly isPrivileged?: boolean
  /** Shows clients or settings: only for administrators if the port is not on loopback. */
  readonly isPrivate?: boolean
  /** Answers even while this server looks for a leader. */
  readonly isAlwaysAnswered?: boolean
  run(view: ServerView, call: Call): Outcome | Promise<Outcome>
}
