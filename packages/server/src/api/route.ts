import type { Readable } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathProblem } from '@zabra/protocol'
import type { ServerView } from '../view/server-view.ts'
import { ApiError, badRequest } from './api-error.ts'
import type { Clients } from './clients.ts'
import type { HistoryDesk } from './history/desk.ts'
import type { LiveChanges } from './history/live-changes.ts'
import type { InternalClient } from './internal-client.ts'
import type { MetricsRing } from './metrics-ring.ts'
import type { Role } from './roles.ts'
import { problemOf, type Schema } from './schema.ts'
import type { StreamLimits } from './stream.ts'
import type { Surveyor } from './survey.ts'

/** How long the body of a request may take to arrive. */
const bodyMsMax = 60_000

/** The context of a route, besides its request. */
export interface Services {
  readonly view: ServerView
  readonly clients: Clients
  readonly metrics: MetricsRing
  readonly desk: HistoryDesk
  readonly live: LiveChanges
  readonly surveyor: Surveyor
  readonly streams: StreamLimits
}

export interface Parameter {
  readonly kind: 'path' | 'text' | 'integer' | 'flag' | 'choice'
  readonly description: string
  readonly isRequired?: boolean
  readonly words?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** A request that was checked against its route. */
export interface Call extends Services {
  readonly client: InternalClient
  readonly role: Role
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
  readonly query: Query
  /** The JSON body, as in the schema of the route. */
  readonly body: unknown
  /** The raw body, for routes that take bytes. */
  readonly bytes: Uint8Array | undefined
}

/** For routes that write the response themselves. */
export const streamed = Symbol('streamed')

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to `/api/v1`. */
  readonly path: string
  readonly summary: string
  /** `private`: like metadata if only this machine reaches the port, else for administrators. */
  readonly role: Role | 'private'
  readonly parameters?: Readonly<Record<string, Parameter>>
  readonly body?: Schema
  /** A body of `application/octet-stream` is accepted, too. */
  readonly takesBytes?: boolean
  /** The success answer: a JSON schema, or the media type of something else. */
  readonly answer: Schema | string
  /** Answers even while this server looks for a leader. */
  readonly isAlwaysAnswered?: boolean
  /** Is logged although it changes nothing. */
  readonly isAudited?: boolean
  /** Errors that are part of normal use. */
  readonly errors?: readonly number[]
  handle(call: Call): Promise<unknown>
}

export const pathParameter: Parameter = {
  kind: 'path',
  description: 'The path of a znode',
  isRequired: true,
}

/** The query of a request. */
export class Query {
  private readonly values: ReadonlyMap<string, string>

  constructor(given: URLSearchParams, parameters: Readonly<Record<string, Parameter>> = {}) {
    const values = new Map<string, string>()
    for (const [name, value] of given) {
      const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined
      if (parameter === undefined) throw badRequest(`There is no parameter ${name}`)
      if (values.has(name)) throw badRequest(`${name} is given twice`)
      const problem = problemOfParameter(parameter, value)
      if (problem !== undefined) throw badRequest(`${name}: ${problem}`)
      values.set(name, value)
    }
    for (const [name, { isRequired }] of Object.entries(parameters)) {
      if (isRequired === true && !values.has(name)) throw badRequest(`${name} is missing`)
    }
    this.values = values
  }

  text(name: string): string | undefined {
    return this.values.get(name)
  }

  path(name = 'path'): string {
    return this.values.get(name) ?? '/'
  }

  integer(name: string): number | undefined {
    const value = this.values.get(name)
    return value === undefined ? undefined : Number(value)
  }

  flag(name: string): boolean {
    return this.values.get(name) === 'true'
  }
}

function problemOfParameter(
  { kind, words = [], minimum, maximum }: Parameter,
  value: string,
): string | undefined {
  switch (kind) {
    case 'path':
      return pathProblem(value)
    case 'text':
      return undefined
    case 'integer':
      if (!/^-?\d{1,15}$/.test(value)) return 'expected a whole number'
      return problemOf(
        { type: 'integer', minimum: minimum ?? 0, maximum: maximum ?? 2 ** 31 - 1 },
        Number(value),
        'it',
      )
    case 'flag':
      return value === 'true' || value === 'false' ? undefined : 'expected true or false'
    case 'choice':
      return words.includes(value) ? undefined : `expected ${words.join(' or ')}`
  }
}

/** The parameters of a route as an OpenAPI parameter list. */
export function schemaOf({ kind, words, minimum, maximum }: Parameter): Schema {
  switch (kind) {
    case 'integer':
      return { type: 'integer', minimum: minimum ?? 0, maximum: maximum ?? 2 ** 31 - 1 }
    case 'flag':
      return { type: 'boolean' }
    case 'choice':
      return { type: 'string', ...(words === undefined ? {} : { enum: words }) }
    default:
      return { type: 'string' }
  }
}

/**
 * The bytes of a body, up to a length. A sender that drips bytes would never be idle, so the body must
 * also arrive in time: its sender may not be known yet.
 */
export async function readBody(request: Readable, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  const late = setTimeout(() => request.destroy(tooSlow()), bodyMsMax)
  try {
    for await (const piece of request as AsyncIterable<Uint8Array>) {
      length += piece.length
      if (length > bytesMax) throw new ApiError(413, 'tooLarge', 'The body is too long')
      pieces.push(piece)
    }
  } finally {
    clearTimeout(late)
  }
  return Buffer.concat(pieces)
}

function tooSlow(): ApiError {
  return new ApiError(408, 'tooSlow', 'The body did not arrive in time')
}
