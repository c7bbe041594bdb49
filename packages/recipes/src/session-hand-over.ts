import { isRefusal, type CallOptions, type Client, type ResumableSession } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { hold, LostError, type Held, type HoldOptions } from './holding/held.ts'

/**
 * Closes a client and writes its session down, so that the next process can continue it: see
 * `parseTicket`. Undefined without a session. The ticket is a secret: with it anybody can act as
 * this session.
 *
 *     const ticket = await writeTicket(client)
 *     if (ticket !== undefined) await writeFile('session.ticket', ticket, { mode: 0o600 })
 */
export async function writeTicket(
  client: Client,
  options: CallOptions = {},
): Promise<string | undefined> {
  const session = await client.detach(options)
  if (session === undefined) return undefined
  const { id, password, lastZxid = 0n } = session
  const hex = Array.from(password, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return JSON.stringify({ id: `${id}`, password: hex, lastZxid: `${lastZxid}` })
}

/**
 * The session of a ticket, for the option `session` of a client; undefined if the text is no
 * ticket, for example after a crash in the middle of writing it.
 *
 *     const session = parseTicket(await readFile('session.ticket', 'utf8').catch(() => ''))
 *     const client = await connect(servers, { session })
 */
export function parseTicket(ticket: string): ResumableSession | undefined {
  try {
    const { id, password, lastZxid } = JSON.parse(ticket) as Record<string, unknown>
    if (typeof id !== 'string' || typeof password !== 'string' || typeof lastZxid !== 'string')
      return undefined
    if (!/^(?:[0-9a-f]{2})+$/.test(password)) return undefined
    const bytes = password.match(/../g)!.map((byte) => Number.parseInt(byte, 16))
    return { id: BigInt(id), password: new Uint8Array(bytes), lastZxid: BigInt(lastZxid) }
  } catch {
    return undefined
  }
}

/**
 * Holds the right of an ephemeral node that an earlier process of the same session created. Rejects
 * with a LostError if the node does not exist, or belongs to another session.
 *
 *     const lock = await adopt(client, pathOfTheLock)
 */
export async function adopt(
  client: Client,
  path: string,
  { lostOn, ...limits }: HoldOptions & CallOptions = {},
): Promise<Held> {
  checkPath(path)
  try {
    const { stat } = await client.get(path, { ...limits, consistency: 'session' })
    if (stat.ephemeralOwner !== client.session?.id) throw new LostError('expired', path)
    return hold(client, { path, stat }, { lostOn })
  } catch (error) {
    if (isRefusal(error, 'noNode')) throw new LostError('deleted', path, error)
    throw error
  }
}
