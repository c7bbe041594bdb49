/** Reaches into the roles that a server of an ensemble plays. */
import type { EnsemblePeer } from '@zabra/core'
import { inside } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'

/** What mutants change of the connections between servers. */
export interface LinkInside {
  sendPacket(packet: { readonly type: number; readonly zxid: bigint; readonly data: unknown }): void
}

type Part = Record<string, unknown>
type Options = Pick<Mutant, 'shape' | 'isChanging' | 'observerMasters' | 'zab' | 'faults'>

/** The parts of the role of a server that is led. */
export interface FollowingInside {
  /** The machine. */
  readonly learner: Part
  /** Where the writes of its clients go. */
  readonly upstream: Part
  /** What the role was given. */
  readonly parts: Part
  readonly link: LinkInside
}

/** The parts of the role of a leader. */
export interface LeadingInside {
  /** The machine. */
  readonly leader: Part
  /** What the role was given. */
  readonly parts: Part
  /** The connections of learners. */
  readonly connections: Part
  accept(link: LinkInside): void
}

/** An error of a leader. */
export function ofLeader(
  name: string,
  change: (leader: Part, peer: EnsemblePeer, role: LeadingInside) => void,
  options: Options = {},
): Mutant {
  return {
    name,
    servers: 3,
    ...options,
    joined: (peer) =>
      onRole(peer, 'leader', (role) => {
        const leading = role as unknown as LeadingInside
        change(leading.leader, peer, leading)
      }),
  }
}

/** An error of those who are led. */
export function ofLearner(
  name: string,
  change: (learner: Part, peer: EnsemblePeer, role: FollowingInside) => void,
  options: Options = {},
): Mutant {
  return {
    name,
    servers: 3,
    ...options,
    joined: (peer) =>
      onRole(peer, 'following', (role) => {
        const following = role as unknown as FollowingInside
        change(following.learner, peer, following)
      }),
  }
}

/** Does something to each role of this name that the peer plays. */
export function onRole(
  peer: EnsemblePeer,
  name: 'leader' | 'following',
  change: (role: Part, peer: EnsemblePeer) => void,
): void {
  let role: unknown
  Object.defineProperty(peer, name, {
    get: () => role,
    set: (value: unknown) => {
      role = value
      if (typeof value === 'object' && value !== null) {
        // What it was given belongs to the peer: changes are for this role only.
        Reflect.set(value, 'parts', { ...inside(value, 'parts') })
        change(value as Part, peer)
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
