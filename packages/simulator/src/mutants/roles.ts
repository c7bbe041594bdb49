/** Reaches into the roles that a server of an ensemble plays. */
import type { EnsemblePeer } from '@zabra/core'
import { inside } from './inside.ts'
import type { Mutant } from './mutant.ts'

/** What links of the quorum port have that mutants change. */
export interface LinkInside {
  send(name: string, zxid: bigint, data?: Uint8Array | null, authinfo?: unknown): void
}

/** An error of whoever leads. */
export function ofLeader(
  name: string,
  change: (leader: Record<string, unknown>, peer: EnsemblePeer) => void,
  options: Pick<Mutant, 'shape' | 'isChanging' | 'observerMasters' | 'zab' | 'faults'> = {},
): Mutant {
  return { name, servers: 3, ...options, joined: (peer) => onRole(peer, 'leader', change) }
}

/** An error of those who are led. */
export function ofLearner(
  name: string,
  change: (learner: Record<string, unknown>, peer: EnsemblePeer) => void,
  options: Pick<Mutant, 'shape' | 'isChanging' | 'observerMasters' | 'zab' | 'faults'> = {},
): Mutant {
  return { name, servers: 3, ...options, joined: (peer) => onRole(peer, 'learner', change) }
}

/** Does something to each leader, or learner, that the peer becomes. */
export function onRole(
  peer: EnsemblePeer,
  name: 'leader' | 'learner',
  change: (role: Record<string, unknown>, peer: EnsemblePeer) => void,
): void {
  let role: unknown
  Object.defineProperty(peer, name, {
    get: () => role,
    set: (value: unknown) => {
      role = value
      if (typeof value === 'object' && value !== null) {
        // What it was given belongs to the peer: changes are for this role only.
        Reflect.set(value, 'parts', { ...inside(value, 'parts') })
        change(value as Record<string, unknown>, peer)
      }
    },
  })
}

/** Every `n`-th call is left out. */
export function skipping(n: number): (original: (...args: unknown[]) => void) => typeof original {
  let calls = 0
  return (original) =>
    (...args) => {
      if (++calls % n !== 0) original(...args)
    }
}
