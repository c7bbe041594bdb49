import type { ServerView } from '../view/server-view.ts'
import { adminHostsOf } from './members.ts'

const keptMsMax = 15_000
/** A page is not kept waiting for servers that do not answer. */
const patienceMs = 400

/**
 * Where the admin ports of the other members are: their consoles may use this API, and the console
 * of this server goes to them when this server is gone.
 */
export class MemberOrigins {
  private readonly view: ServerView
  /** `host:port`, by member: who does not answer now is where he was. */
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

  /** `host:port` of each that is known. */
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

/** A page that was opened by this name is on this machine. */
function withAddress(origin: string): string {
  return origin.replace(/^(https?:\/\/)localhost(?=:|$)/, '$1127.0.0.1')
}
