import { addressText, type Address } from './address.ts'
import { askWord, type AskOptions } from './four-letter.ts'

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

/** The connections of a server. */
export async function connectionsOf(
  server: Address,
  options: AskOptions,
): Promise<ClientConnection[]> {
  return parseConnections(await askWord(server, 'cons', options), addressText(server))
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
