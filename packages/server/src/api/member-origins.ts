import type { ServerView } from '../view/server-view.ts'
import { bracketed, consolesOf, hostOf, type MemberConsole } from './members.ts'

const keptMsMax = 15_000
/** A member that did not answer may be starting. */
const keptMsMaxUnreached = 2000
/** How long a page waits for members that do not answer. */
const patienceMs = 400

/**
 * The admin ports of the other members. Their consoles may use this API, and the console of this
 * server switches to them when this server is down.
 */
export class MemberOrigins {
  private readonly view: ServerView
  /** Of a member that does not answer, the last known one. */
  private readonly known = new Map<bigint, MemberConsole>()
  private looking: Promise<void> | undefined
  private lookedMs = -Infinity
  private isComplete = false

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

  /**
   * Where a page may go: `host:port` of each member, or `host:*` of one that has not answered yet.
   * The page finds its port later, but what it may connect to is decided when it is loaded.
   */
  async hosts(): Promise<readonly string[]> {
    const { ensemble } = this.view
    if (ensemble === undefined) return []
    const looked = this.look()
    if (this.known.size === 0) {
      await Promise.race([looked, new Promise((resolve) => setTimeout(resolve, patienceMs))])
    }
    const self = BigInt(ensemble.config.serverId)
    return [...ensemble.membership.servers].flatMap(([id, spec]) => {
      const known = this.known.get(id)
      if (id === self) return []
      if (known?.isReached === true) return [known.host]
      const host = hostOf(spec)
      return host === undefined ? [] : [`${bracketed(host)}:*`]
    })
  }

  private has(host: string): boolean {
    return [...this.known.values()].some((known) => known.host === host)
  }

  private look(): Promise<void> {
    const keptMs = this.isComplete ? keptMsMax : keptMsMaxUnreached
    if (performance.now() - this.lookedMs < keptMs) return Promise.resolve()
    this.looking ??= consolesOf(this.view)
      .then((found) => {
        for (const [id, member] of found) {
          if (member.isReached || !this.known.has(id)) this.known.set(id, member)
        }
        this.isComplete = [...found.values()].every(({ isReached }) => isReached)
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
