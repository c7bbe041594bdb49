import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { RunningServer } from '../../src/running/running-server.ts'

interface Described {
  readonly content: Readonly<Record<string, { schema?: object }>>
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { responses: Readonly<Record<string, Described>> }>>>
  >
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

export interface ApiReply<T> {
  readonly status: number
  readonly body: T & { readonly error?: { readonly code: string; readonly oldest?: string } }
}

const ajv = new Ajv2020({ strict: false, allErrors: true })

/** The HTTP API of a server. Every answer is checked against the description of the API. */
export class DescribedApi {
  private readonly server: RunningServer
  private readonly headers: Readonly<Record<string, string>>
  private document: Promise<Document> | undefined

  /** `caller` is `user:password`, or the headers to send. */
  constructor(server: RunningServer, caller: string | Readonly<Record<string, string>> = {}) {
    this.server = server
    this.headers =
      typeof caller === 'string'
        ? { Authorization: `Basic ${Buffer.from(caller).toString('base64')}` }
        : caller
  }

  get<T = Record<string, unknown>>(path: string, parameters: object = {}): Promise<ApiReply<T>> {
    return this.call('GET', path, parameters)
  }

  post<T = Record<string, unknown>>(path: string, body: object): Promise<ApiReply<T>> {
    return this.call('POST', path, {}, body)
  }

  /** Sends a request with any method and with parameters in the URL. */
  send<T = Record<string, unknown>>(
    method: 'PUT' | 'DELETE',
    path: string,
    parameters: object,
    body: object = {},
  ): Promise<ApiReply<T>> {
    return this.call(method, path, parameters, body)
  }

  /** An answer that is not JSON, unchanged. */
  async raw(
    path: string,
    parameters: object = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return fetch(this.url(path, parameters), { headers: { ...this.headers, ...headers } })
  }

  private async call<T>(
    method: string,
    path: string,
    parameters: object,
    body?: object,
  ): Promise<ApiReply<T>> {
    const response = await fetch(this.url(path, parameters), {
      method,
      headers: {
        ...this.headers,
        ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const reply = (await response.json()) as ApiReply<T>['body']
    const { paths, components } = await this.described()
    const route = `/api/v1${path}`
    const described = paths[route]?.[method.toLowerCase()]?.responses[response.status]
    expect(described, `${method} ${route} ${response.status} is described`).toBeDefined()
    const schema = described?.content['application/json']?.schema ?? {}
    const check = ajv.compile('$ref' in schema ? components.schemas['Error']! : schema)
    if (!check(reply)) throw new Error(`${route}: ${ajv.errorsText(check.errors)}`)
    return { status: response.status, body: reply }
  }

  private url(path: string, parameters: object): string {
    const query = new URLSearchParams(
      Object.entries(parameters).map(([name, value]) => [name, String(value)] as [string, string]),
    )
    return `${this.server.adminAddress}/api/v1${path}?${query.toString()}`
  }

  private described(): Promise<Document> {
    this.document ??= fetch(`${this.server.adminAddress}/api/openapi.json`).then(
      (response) => response.json() as Promise<Document>,
    )
    return this.document
  }
}
