import type { Held } from '@zabra/recipes'
import type { Stage } from '../stage.ts'

/** Who may have a right beside whom: nobody else, others who share it, or so many at most. */
export type Sharing = 'alone' | 'shared'

export interface Grant {
  readonly holder: string
  readonly held: Held
  readonly sharing: Sharing
  /** How many permits it stands for. */
  readonly permits: number
  /** The token is older than the node, whose name nobody else ever uses. */
  readonly isTokenOlder?: boolean | undefined
  /** How much of the tree they had seen: somebody who stood still may learn late of old luck. */
  readonly seenZxid: bigint
}

export interface RightsOptions {
  /** How many permits there are, where they count. */
  readonly permitsMax?: number | undefined
}

/**
 * All that was ever granted, held against the tree as it is.
 *
 * Two may hold at a time by the clock: somebody who does not know yet that the session is over.
 * But who is granted something has seen the tree without the node of whoever had it before, and
 * tokens grow from one holder to the next. So a resource that refuses a token when it has seen a
 * larger one never refuses somebody whose node is still there.
 */
export class Rights {
  private readonly stage: Stage
  private readonly name: string
  private readonly permitsMax: number | undefined
  /** Those whose nodes may still be there. */
  private open: Grant[] = []
  /** By their tokens. */
  private readonly grants = new Map<bigint, Grant>()
  /** The largest that the resource has let in of those who were alone, and of all. */
  private seenAlone = -1n
  private seen = -1n

  constructor(name: string, stage: Stage, { permitsMax }: RightsOptions = {}) {
    this.name = name
    this.stage = stage
    this.permitsMax = permitsMax
  }

  /** Somebody was given the right. */
  grant(grant: Grant): void {
    const { stage, name } = this
    const { holder, held, sharing } = grant
    const { token, path } = held
    stage.count(`held: ${name}`)
    stage.trace(`${holder} holds ${name} (${sharing}) with token ${token}, ${path}`)
    const twin = this.grants.get(token)?.holder
    if (twin !== undefined) stage.violate(`token ${token} of ${name} is ${twin}'s and ${holder}'s`)
    this.grants.set(token, grant)
    this.open = this.open.filter((other) => this.isThere(other, grant.seenZxid) !== false)
    const beside = this.open.filter((other) => this.areBoth(other, grant))
    for (const other of beside) this.checkBeside(grant, other)
    this.checkPermits([...beside, grant])
    this.open.push(grant)
  }

  /** Asked of something outside; answers whether it was let in. */
  use(holder: string, held: Held, sharing: Sharing): boolean {
    const { stage, name } = this
    const { token } = held
    // Those who share do not follow one another. Whoever is alone follows all of them.
    const largest = sharing === 'alone' ? this.seen : this.seenAlone
    if (token >= largest) {
      if (sharing === 'alone') this.seenAlone = token
      if (token > this.seen) this.seen = token
      stage.count(`used: ${name}`)
      return true
    }
    stage.count(`refused: ${name}`)
    // A server that has not applied as much as the one with the larger token saw cannot tell.
    const seenZxid = this.grants.get(largest)?.seenZxid ?? 0n
    if (this.isThere(this.grants.get(token) ?? { held }, seenZxid) === true)
      stage.violate(`${holder} still has ${name}, and its token ${token} is refused`)
    return false
  }

  /** Whether the later of two was granted in sight of the other's node. */
  private areBoth(a: Grant, b: Grant): boolean {
    const [earlier, later] = a.held.token < b.held.token ? [a, b] : [b, a]
    if (earlier.held.signal.aborted && this.permitsMax !== undefined) return false
    return this.isThere(earlier, later.seenZxid) === true
  }

  private checkBeside(grant: Grant, other: Grant): void {
    if (this.permitsMax !== undefined) return
    if (grant.sharing === 'shared' && other.sharing === 'shared') return
    this.stage.violate(
      `${grant.holder} is given ${this.name} while ${other.holder} has it by ${other.held.path}`,
    )
  }

  private checkPermits(grants: readonly Grant[]): void {
    const { permitsMax, name, stage } = this
    if (permitsMax === undefined) return
    const given = grants.reduce((sum, { permits }) => sum + permits, 0)
    if (given > permitsMax) stage.violate(`${given} permits of ${name} are given of ${permitsMax}`)
  }

  private isThere(
    { held: { path, token }, isTokenOlder }: Pick<Grant, 'held' | 'isTokenOlder'>,
    seenZxid: bigint,
  ): boolean | undefined {
    return this.stage.isThere(path, isTokenOlder === true ? undefined : token, seenZxid)
  }
}
