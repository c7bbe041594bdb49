import type { Held } from '@zabra/recipes'
import type { Stage } from '../stage.ts'

interface Grant {
  readonly holder: string
  readonly token: bigint
  readonly path: string
}

/**
 * Something outside that only one may use at a time, and that is asked late and by those who do
 * not know yet that their time is over. It refuses a token when it has seen a larger one; that
 * must never happen to somebody who still holds.
 */
export class FencedResource {
  private readonly stage: Stage
  private readonly name: string
  /** Whose nodes may still be there. */
  private open: Grant[] = []
  private readonly holders = new Map<bigint, string>()
  private highest = -1n
  private granted = -1n

  constructor(name: string, stage: Stage) {
    this.name = name
    this.stage = stage
  }

  /** Somebody was given the right, who has seen as much of the tree. */
  grant(holder: string, { token, path }: Held, seenZxid: bigint): void {
    const { stage, name } = this
    stage.count(`held: ${name}`)
    stage.trace(`${holder} holds ${name} with token ${token}, ${path}`)
    if (this.holders.has(token))
      stage.violate(`token ${token} of ${name} is ${this.holders.get(token)}'s and ${holder}'s`)
    if (token < this.granted)
      stage.violate(`token ${token} of ${name} comes after ${this.granted}: ${holder}`)
    this.granted = token
    this.holders.set(token, holder)
    this.open = this.open.filter((other) => this.isHeld(other, seenZxid) !== false)
    for (const other of this.open) {
      if (this.isHeld(other, seenZxid) === true)
        stage.violate(`${holder} is given ${name} while ${other.holder} has it by ${other.path}`)
    }
    this.open.push({ holder, token, path })
  }

  /** Answers whether it was let in. What it is asked may have been under way for some time. */
  use(holder: string, { token, path }: Held): boolean {
    const { stage, name } = this
    if (token >= this.highest) {
      this.highest = token
      stage.count(`used: ${name}`)
      return true
    }
    stage.count(`refused: ${name}`)
    if (this.isHeld({ holder, token, path }, 0n) === true)
      stage.violate(`${holder} still has ${name}, and its token ${token} is refused`)
    return false
  }

  private isHeld({ path, token }: Grant, seenZxid: bigint): boolean | undefined {
    return this.stage.isThere(path, token, seenZxid)
  }
}
