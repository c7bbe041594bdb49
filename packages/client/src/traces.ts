import type { OperationError } from './errors.ts'
import type { Channel, Host } from './host.ts'
import type { Call } from './machine/call.ts'
import type { State } from './state.ts'

/** Published on `zabra:client:request` when a call is over. */
export interface RequestTrace {
  /** By its name in the protocol: `getData`, `create2`... */
  readonly operation: string
  readonly path: string | undefined
  readonly durationMs: number
  /** How often it was sent again after a lost connection. */
  readonly repeats: number
  /** Undefined where it succeeded. */
  readonly error: unknown
}

/** Published on `zabra:client:state` at every change. */
export interface StateTrace {
  readonly state: State
  readonly before: State
}

/** Published on `zabra:client:connection` when no connection comes of an attempt. */
export interface ConnectionTrace {
  readonly server: string
  readonly error: Error
}

/** Published on `zabra:client:auth` when a server refuses an identity. What was secret in it is not told. */
export interface AuthRefusal {
  readonly scheme: string
  readonly server: string
  readonly error: OperationError
}

/** What happens, for whoever listens. Nobody does, as a rule, and then it costs nothing. */
export class Traces {
  private readonly host: Host
  private readonly requests: Channel | undefined
  private readonly states: Channel | undefined
  private readonly connections: Channel | undefined
  private readonly auths: Channel | undefined

  constructor(host: Host) {
    this.host = host
    this.requests = host.channel?.('zabra:client:request')
    this.states = host.channel?.('zabra:client:state')
    this.connections = host.channel?.('zabra:client:connection')
    this.auths = host.channel?.('zabra:client:auth')
  }

  get wantsRequests(): boolean {
    return this.requests?.hasSubscribers ?? false
  }

  /** The same result, and a message when it is there. */
  async request<Request, Result>(
    call: Call<Request, Result>,
    result: Promise<Result>,
  ): Promise<Result> {
    const startedAtMs = this.host.nowMs()
    const publish = (error: unknown): void => {
      const { kind, path, repeats } = call
      const durationMs = this.host.nowMs() - startedAtMs
      const trace: RequestTrace = { operation: kind.name, path, durationMs, repeats, error }
      this.requests?.publish(trace)
    }
    try {
      const value = await result
      publish(undefined)
      return value
    } catch (error) {
      publish(error)
      throw error
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
