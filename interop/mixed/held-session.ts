import { createFlags, eventTypes } from '@zabra/protocol'
import { ConnectionLostError, RawClient } from '../../packages/server/test/support/raw-client.ts'
import { until } from '../src/until.ts'
import type { Member } from './ensemble.ts'

const timeoutMs = 120_000
const patienceMs = 20_000

/** A session with an ephemeral node and watches, which moves between servers. */
export class HeldSession {
  readonly ephemeral: string
  readonly sessionId: bigint
  client: RawClient
  private lastZxid = 0n
  private readonly password: Uint8Array
  private readonly watched: string

  static async open(at: Member, root: string): Promise<HeldSession> {
    const client = await RawClient.connect(at.port, { timeoutMs })
    for (const path of [root, `${root}/data`, `${root}/children`]) await client.create(path)
    const { path } = await client.create(`${root}/mine-`, '', createFlags.ephemeralSequential)
    return new HeldSession(client, root, path)
  }

  private constructor(client: RawClient, watched: string, ephemeral: string) {
    this.client = client
    this.watched = watched
    this.ephemeral = ephemeral
    this.sessionId = client.sessionId
    this.password = client.password
  }

  /** Sets one watch of each kind. */
  async watch(): Promise<void> {
    const { client, watched } = this
    await client.must('getData', { path: `${watched}/data`, watch: true })
    await client.must('getChildren', { path: `${watched}/children`, watch: true })
    await client.call('exists', { path: `${watched}/coming`, watch: true })
  }

  /** Disconnects, or finds that its server has done so. */
  async leave(): Promise<void> {
    if (this.client.lastZxid > this.lastZxid) this.lastZxid = this.client.lastZxid
    await this.client.abandon()
  }

  /** Continues on a server, with its watches: missed events arrive at once. */
  async arrive(at: Member): Promise<void> {
    const { sessionId, password, lastZxid, watched } = this
    const session = { sessionId, password }
    const options = { timeoutMs, session, lastZxidSeen: lastZxid }
    // A server that has not seen what the client has seen refuses it.
    await until(`${at.name} does not take the session`, patienceMs, async () => {
      try {
        this.client = await RawClient.connect(at.port, options)
        return true
      } catch (error) {
        if (error instanceof ConnectionLostError) return false
        throw error
      }
    })
    await this.client.must('setWatches', {
      relativeZxid: lastZxid,
      dataWatches: [`${watched}/data`],
      existWatches: [`${watched}/coming`],
      childWatches: [`${watched}/children`],
    })
  }

  async moveTo(at: Member): Promise<void> {
    await this.leave()
    await this.arrive(at)
  }

  /** Another client fires each of the watches once. */
  async disturb(other: RawClient): Promise<void> {
    const { watched } = this
    await other.must('setData', { path: `${watched}/data`, data: Buffer.from('!'), version: -1 })
    const { path } = await other.create(`${watched}/children/a`)
    await other.create(`${watched}/coming`)
    await other.must('delete', { path, version: -1 })
  }

  /** Expects exactly the events of `disturb`. */
  async expectEvents(): Promise<void> {
    const { client, watched } = this
    const events: string[] = []
    for (let i = 0; i < 3; i++) {
      const { type, path } = await within(client.nextEvent(), 'an event that is missing')
      events.push(`${eventNames[type] ?? type} ${path}`)
    }
    const expected = [
      `created ${watched}/coming`,
      `children ${watched}/children`,
      `data ${watched}/data`,
    ]
    if (events.toSorted().join() !== expected.toSorted().join()) {
      throw new Error(`events were ${events.join(', ')}`)
    }
    await client.must('delete', { path: `${watched}/coming`, version: -1 })
    if (client.events.length > 0) throw new Error('there was an event too many')
  }

  /** It is still the same session. */
  async expectEphemeral(): Promise<void> {
    const { stat } = await this.client.must('getData', { path: this.ephemeral, watch: false })
    if (stat.ephemeralOwner !== this.sessionId) throw new Error(`${this.ephemeral} is not ours`)
  }
}

const eventNames: Record<number, string> = {
  [eventTypes.nodeCreated]: 'created',
  [eventTypes.nodeDeleted]: 'deleted',
  [eventTypes.nodeDataChanged]: 'data',
  [eventTypes.nodeChildrenChanged]: 'children',
}

/** The promise's value; throws if it takes too long. */
export async function within<T>(promise: Promise<T>, complaint: string): Promise<T> {
  let impatience: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    impatience = setTimeout(() => {
      reject(new Error(`${complaint}, after ${patienceMs} ms`))
    }, patienceMs)
  })
  return Promise.race([promise, tooLate]).finally(() => clearTimeout(impatience))
}
