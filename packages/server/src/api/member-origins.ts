import type { ServerView } from '../view/server-view.ts'
import { adminHostsOf } from './members.ts'

const keptMsMax = 15_000
/** How long a page waits for members that do not answer. */
const patienceMs = 400

/**
 * The admin ports of the other members. Their consoles may use this API, and the console of this
 * server switches to them when this server is down.
 */
export class MemberOrigins {
  private readonly view: ServerView
  /** `host:port` by member; of a member that does not answer, the last known one. */
  private readonly known = new Map<string, string>()
  private looking: Promise<void> | undefined
  private lookedMs = -Infinity

  constructor(view: ServerView) {
    this.view = view
  }

  /** Whether a page of this origin is the console of another member. */
  async includes(origin: string): Promise<boolean> {
    if (!URL.canParse(origin)) return false
    const { host, hostname } = new URL(withAddress(origin))
    const isCandidate = [...(this.view.ensemble?.membership.servers.values() ?? [])].some(
      ({ addresses, client }) =>
        client?.host === hostname || addresses.some((each) => each.host === hostname),
    )
    if (!isCandidate) return false
    if (this.has(host)) return true
    await this.look()
    return this.has(host)
  }

  /** The known `host:port` of each member. */
  async hosts(): Promise<readonly string[]> {
    if (this.view.ensemble === undefined) return []
    const looked = this.look()
    if (this.known.size === 0) {
      await Promise.race([looked, new Promise((resolve) => setTimeout(resolve, patienceMs))])
    }
    return [...this.known.values()]
  }

  private has(host: string): boolean {
    return [...this.known.values()].includes(host)
  }

  private look(): Promise<void> {
    if (performance.now() - this.lookedMs < keptMsMax) return Promise.resolve()
    this.looking ??= adminHostsOf(this.view)
      .then((found) => {
        for (const [id, host] of found) this.known.set(id, host)
        this.lookedMs = performance.now()
      })
      .finally(() => (this.looking = undefined))
    return this.looking
  }
}

/** Replaces localhost in an origin: a page opened under that name is on this machine. */
function withAddress(origin: string): string {
  return origin.replace(/^(https?:\/\/)localhost(?=:|$)/, '$1127.0.0.1')
}
