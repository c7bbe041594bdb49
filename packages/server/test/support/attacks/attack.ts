import type { LimitName } from '@zabra/core'

export interface Attack {
  readonly name: string
  /** Additional lines of the server's configuration; `dir` is for files. */
  readonly cfg?: string | ((dir: string) => string)
  /** The target leads an ensemble of three servers. */
  readonly isOnEnsemble?: boolean
  /** The limits that must stop the attacker. */
  readonly limits?: readonly LimitName[]
  /** Whether `npm test` runs a smaller version of it. */
  readonly isInTests?: boolean
  /** Preparations before the attack, which are not measured. */
  prepare?(target: Target, scale: number): Promise<void>
  /** Throws if the server did something that it must not do. */
  run(target: Target, scale: number): Promise<void>
}

/** The server under attack. */
export interface Target {
  readonly port: number
  readonly adminPort: number
  /** Its ports for other servers, if it has any. */
  readonly quorumPort?: number
  readonly electionPort?: number
}

export function many<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: Math.max(1, Math.round(count)) }, (_, i) => make(i))
}
