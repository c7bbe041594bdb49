import type { OperationError } from './errors.ts'
import type { Channel, Host } from './host.ts'
import type { Call } from './machine/call.ts'
import type { State } from './state.ts'

/**
 * The message of the tracing channel `zabra:client:request`: the same object at `start`, `end`,
 * `asyncStart` and `asyncEnd`, and at `error` if the call fails, filled in as more is known.
 */
export interface RequestTrace {
  /** By its name in the protocol: `getData`, `create2`... */
  readonly operation: string
  readonly path: string | undefined
  /**
   * The server of the current connection or the last one, as `host:port`; empty before the first.
   */
  readonly server: string
  readonly sessionId: bigint | undefined
  /** From `asyncStart` on. */
  durationMs?: number
  /** How often it was sent again after a lost connection. */
  repeats?: number
  /** The result of the call. */
  result?: unknown
  /** The error of the call. */
  error?: unknown
}

/** Published on `zabra:client:state` at every change. */
export interface StateTrace {
  readonly state: State
  readonly before: State
}

/** Published on `zabra:client:connection` when an attempt to connect fails. */
export interface ConnectionTrace {
  readonly server: string
  readonly error: Error
}

/** Published on `zabra:client:auth` when a server refuses an identity, without its secrets. */
export interface AuthRefusal {
  readonly scheme: string
  readonly server: string
  readonly error: OperationError
}

/** The server and session of a call. */
export interface TracePlace {
  readonly server: string
  readonly sessionId: bigint | undefined
}

/** The five channels of a `TracingChannel` of Node, by its names for them. */
class RequestChannels {
  private readonly start: Channel | undefined
  private readonly end: Channel | undefined
  private readonly asyncStart: Channel | undefined
  private readonly asyncEnd: Channel | undefined
  private readonly error: Channel | undefined

  constructor(host: Host) {
    const open = (event: string) => host.channel?.(`tracing:zabra:client:request:${event}`)
    this.start = open('start')
    this.end = open('end')
    this.asyncStart = open('asyncStart')
    this.asyncEnd = open('asyncEnd')
    this.error = open('error')
  }

  get hasSubscribers(): boolean {
    return (
      this.asyncEnd?.hasSubscribers === true ||
      this.start?.hasSubscribers === true ||
      this.error?.hasSubscribers === true ||
      this.asyncStart?.hasSubscribers === true ||
      this.end?.hasSubscribers === true
    )
  }

  begun(trace: RequestTrace): void {
    this.start?.publish(trace)
    this.end?.publish(trace)
  }

  failed(trace: RequestTrace): void {
    this.error?.publish(trace)
  }

  ended(trace: RequestTrace): void {
    this.asyncStart?.publish(trace)
    this.asyncEnd?.publish(trace)
  }
}

/** Publishes events to subscribers. Usually there are none, and then it costs nothing. */
export class Traces {
  private readonly host: Host
  private readonly requests: RequestChannels
  private readonly states: Channel | undefined
  private readonly connections: Channel | undefined
  private readonly auths: Channel | undefined

  constructor(host: Host) {
    this.host = host
    this.requests = new RequestChannels(host)
    this.states = host.channel?.('zabra:client:state')
    this.connections = host.channel?.('zabra:client:connection')
    this.auths = host.channel?.('zabra:client:auth')
  }

  get wantsRequests(): boolean {
    return this.requests.hasSubscribers
  }

  /**
   * Sends the call between `start` and `end`; resolves to its result after publishing the messages.
   */
  async request<Request, Result>(
    call: Call<Request, Result>,
    { server, sessionId }: TracePlace,
    send: () => Promise<Result>,
  ): Promise<Result> {
    const { host, requests } = this
    const startedAtMs = host.nowMs()
    const trace: RequestTrace = { operation: call.kind.name, path: call.path, server, sessionId }
    requests.begun(trace)
    try {
      trace.result = await send()
      return trace.result as Result
    } catch (error) {
      trace.error = error
      requests.failed(trace)
      throw error
    } finally {
      trace.durationMs = host.nowMs() - startedAtMs
      trace.repeats = call.repeats
      requests.ended(trace)
    }
  }

  state(state: State, before: State): void {
    if (this.states?.hasSubscribers === true)
      this.states.publish({ state, before } satisfies StateTrace)
  }

  attemptFailed(server: string, error: Error): void {
    if (this.connections?.hasSubscribers === true)
      this.connections.publish({ server, error } satisfies ConnectionTrace)
  }

  authRefused(refusal: AuthRefusal): void {
    if (this.auths?.hasSubscribers === true) this.auths.publish(refusal)
  }
}
