import type { Held } from '@zabra/recipes'
import type { Stage } from '../stage.ts'

/** The holders of a right at one time: a single one, several that share it, or a limited number. */
export type Sharing = 'alone' | 'shared'

export interface Grant {
  readonly holder: string
  readonly held: Held
  readonly sharing: Sharing
  /** The number of permits it stands for. */
  readonly permits: number
  /** The token is older than the node, whose name is never used again. */
  readonly isTokenOlder?: boolean | undefined
  /**
   * How much of the tree they had seen: a program that was paused may learn late of an old grant.
   */
  readonly seenZxid: bigint
}

export interface RightsOptions {
  /** The number of permits, if they are limited. */
  readonly permitsMax?: number | undefined
}

/**
 * Everything that was ever granted, compared with the tree.
 *
 * Two programs may hold a right at the same time by the clock: one may not know yet that its
 * session has ended. But a program that is granted a right has seen the tree without the previous
 * holder's node, and tokens grow from one holder to the next. So a resource that refuses a token
 * smaller than one it has seen never refuses a holder whose node still exists.
 */
export class Rights {
  private readonly stage: Stage
  private readonly name: string
  private readonly permitsMax: number | undefined
  /** Grants whose nodes may still exist. */
  private open: Grant[] = []
  /** Grants by token. */
  private readonly grants = new Map<bigint, Grant>()
  /** The largest tokens that the resource accepted: of exclusive holders, and of all. */
  private seenAlone = -1n
  private seen = -1n

  constructor(name: string, stage: Stage, { permitsMax }: RightsOptions = {}) {
    this.name = name
    this.stage = stage
    this.permitsMax = permitsMax
  }

  /** A program was granted the right. */
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

  /** Uses an external resource; returns whether it accepted the token. */
  use(holder: string, held: Held, sharing: Sharing): boolean {
    const { stage, name } = this
    const { token } = held
    // Shared holders need not be in order. An exclusive holder comes after all of them.
    const largest = sharing === 'alone' ? this.seen : this.seenAlone
    if (token >= largest) {
      if (sharing === 'alone') this.seenAlone = token
      if (token > this.seen) this.seen = token
      stage.count(`used: ${name}`)
      return true
    }
    stage.count(`refused: ${name}`)
    // A server that has not applied what the holder of the larger token saw cannot tell.
    const seenZxid = this.grants.get(largest)?.seenZxid ?? 0n
    if (this.isThere(this.grants.get(token) ?? { held }, seenZxid) === true)
      stage.violate(`${holder} still has ${name}, and its token ${token} is refused`)
    return false
  }

  /** Whether the later of two was granted while the other's node was visible. */
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
