import { addressText, type Address } from './address.ts'
import { CommandError } from '../framework/errors.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import { adminBase, askApi } from './admin.ts'
import { askWord, NotListedError, type AskOptions } from './four-letter.ts'

/** A client's connection, as `cons` shows it. */
export interface ClientConnection {
  readonly server: string
  readonly client: string
  /** In hexadecimal; undefined before its handshake. */
  readonly session: string | undefined
  readonly received: number
  readonly sent: number
  readonly queued: number
  readonly timeoutMs: number | undefined
  readonly connectedAt: Date | undefined
  readonly lastOperation: string | undefined
  readonly latencyMs: { readonly average: number; readonly max: number } | undefined
}

/**
 * Lists the connections of servers: by the word `cons`, or by zabra's HTTP API where `cons` is not
 * on the whitelist.
 */
export class ConnectionLists {
  private readonly settings: ConnectionSettings
  private readonly options: AskOptions
  private readonly signal: AbortSignal
  /** The admin ports of the servers that do not answer `cons`. */
  private readonly adminBases = new Map<string, string>()

  constructor(settings: ConnectionSettings, options: AskOptions, signal: AbortSignal) {
    this.settings = settings
    this.options = options
    this.signal = signal
  }

  async of(server: Address): Promise<ClientConnection[]> {
    const name = addressText(server)
    const known = this.adminBases.get(name)
    if (known !== undefined) return this.ofApi(known, name)
    try {
      return parseConnections(await askWord(server, 'cons', this.options), name)
    } catch (error) {
      if (!(error instanceof NotListedError)) throw error
      const base = await adminBase(server, this.options).catch(() => {
        throw error
      })
      const found = await this.ofApi(base, name).catch((problem: Error) => {
        this.signal.throwIfAborted()
        throw new CommandError(`${error.message}, and its admin port refuses: ${problem.message}`, {
          code: error.code,
          exitCode: error.exitCode,
          hint: error.hint,
          cause: problem,
        })
      })
      this.adminBases.set(name, base)
      return found
    }
  }

  /** The API lists sessions that are connected to the server before all others. */
  private async ofApi(base: string, server: string): Promise<ClientConnection[]> {
    const connections: ClientConnection[] = []
    for (;;) {
      const { sessions, total } = await askApi<SessionPage>({
        base,
        path: `/api/v1/sessions?limit=${pageMax}&offset=${connections.length}`,
        settings: this.settings,
        signal: this.signal,
      })
      const connected = sessions.flatMap(({ id, timeoutMs, connection }) =>
        connection === null ? [] : [connectionOfApi(id, timeoutMs, connection, server)],
      )
      connections.push(...connected)
      if (connected.length < pageMax || connections.length >= total) return connections
    }
  }
}

const pageMax = 1000

interface SessionPage {
  readonly total: number
  readonly sessions: readonly {
    readonly id: string
    readonly timeoutMs: number
    readonly connection: ApiConnection | null
  }[]
}

interface ApiConnection {
  readonly address: string
  readonly port: number
  readonly since: string
  readonly lastOperation: string | null
  readonly requests: number
  readonly replies: number
  readonly outstanding: number
  readonly meanLatencyMs: number
  readonly maxLatencyMs: number
}

function connectionOfApi(
  session: string,
  timeoutMs: number,
  connection: ApiConnection,
  server: string,
): ClientConnection {
  const { address: host, port } = connection
  return {
    server,
    client: addressText({ host, port }),
    session,
    received: connection.requests,
    sent: connection.replies,
    queued: connection.outstanding,
    timeoutMs,
    connectedAt: new Date(connection.since),
    lastOperation: connection.lastOperation ?? undefined,
    latencyMs: { average: connection.meanLatencyMs, max: connection.maxLatencyMs },
  }
}

export function parseConnections(text: string, server: string): ClientConnection[] {
  return text.split('\n').flatMap((line) => {
    const [, client, list] = /^\s*\/(\S+?)\[[0-9a-f]*\]\((.*)\)\s*$/.exec(line) ?? []
    if (client === undefined || list === undefined) return []
    const fields = new Map(list.split(',').map((pair) => pair.split('=') as [string, string]))
    const number = (name: string): number => Number(fields.get(name) ?? 0)
    const session = fields.get('sid')
    return [
      {
        server,
        client,
        session,
        received: number('recved'),
        sent: number('sent'),
        queued: number('queued'),
        timeoutMs: fields.has('to') ? number('to') : undefined,
        connectedAt: fields.has('est') ? new Date(number('est')) : undefined,
        lastOperation: fields.get('lop'),
        latencyMs:
          session === undefined ? undefined : { average: number('avglat'), max: number('maxlat') },
      },
    ]
  })
}
