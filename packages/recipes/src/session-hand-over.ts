import { isRefusal, type CallOptions, type Client, type ResumableSession } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import { hold, LostError, type Held, type HoldOptions } from './holding/held.ts'

/**
 * Lets the next process of a program continue with the session of this one: its ephemeral nodes stay,
 * and with them its locks and its presence.
 *
 *     // The process that ends:
 *     const ticket = await new SessionHandOver(client).write()
 *     if (ticket !== undefined) await writeFile('session.ticket', ticket, { mode: 0o600 })
 *     // The one that starts:
 *     const session = SessionHandOver.read(await readFile('session.ticket', 'utf8').catch(() => ''))
 *     const next = await connect(servers, { session })
 *     await using lock = await new SessionHandOver(next).adopt(pathOfTheLock)
 */
export class SessionHandOver {
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  /**
   * Ends the client but not its session, and resolves to a ticket for the next process; to undefined
   * if there is no session. The ticket is a secret: it allows anybody to act as this session.
   *
   *     const ticket = await new SessionHandOver(client).write()
   *     if (ticket !== undefined) await writeFile('session.ticket', ticket, { mode: 0o600 })
   */
  async write(options: CallOptions = {}): Promise<string | undefined> {
    const session = await this.client.detach(options)
    if (session === undefined) return undefined
    const { id, password, lastZxid = 0n } = session
    const hex = Array.from(password, (byte) => byte.toString(16).padStart(2, '0')).join('')
    return JSON.stringify({ id: `${id}`, password: hex, lastZxid: `${lastZxid}` })
  }

  /**
   * The session of a ticket, for the client's option `session`; undefined if the text is not a ticket,
   * for example because a crash left half of it.
   *
   *     const session = SessionHandOver.read(await readFile('session.ticket', 'utf8').catch(() => ''))
   *     const next = await connect(servers, { session })
   */
  static read(ticket: string): ResumableSession | undefined {
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
   * Holds the right of an ephemeral node that an earlier process of this session created. Rejects with
   * a LostError if the node does not exist, or belongs to another session.
   *
   *     await using held = await new SessionHandOver(client).adopt(pathOfTheLock)
   */
  async adopt(path: string, { lostOn, ...limits }: HoldOptions & CallOptions = {}): Promise<Held> {
    const client = this.client.patient
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
}
