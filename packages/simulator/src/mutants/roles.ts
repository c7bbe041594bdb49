/** Access to the roles of a server in an ensemble. */
import type { EnsemblePeer } from '@zabra/core'
import type { Mutant } from '../cluster/mutant.ts'
import { inside, replace } from './inside.ts'

/** The parts of a connection between servers that mutants change. */
export interface LinkInside {
  sendPacket(packet: { readonly type: number; readonly zxid: bigint; readonly data: unknown }): void
}

type Part = Record<string, unknown>
type Options = Pick<Mutant, 'shape' | 'isChanging' | 'observerMasters' | 'zab' | 'faults'>

/** The parts of the role of a follower or observer. */
export interface FollowingInside {
  /** The state machine. */
  readonly learner: Part
  /** Where the writes of its clients go. */
  readonly upstream: Part
  /** The parts that the role received. */
  readonly parts: Part
  readonly link: LinkInside
}

/** The parts of the role of a leader. */
export interface LeadingInside {
  /** The state machine. */
  readonly leader: Part
  /** The parts that the role received. */
  readonly parts: Part
  /** The connections of learners. */
  readonly connections: Part
  accept(link: LinkInside, port: string): boolean
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
      onRole(peer, ['leading'], (role) => {
        const leading = ownParts(role) as unknown as LeadingInside
        change(leading.leader, peer, leading)
      }),
  }
}

/** An error of followers and observers. */
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
      onRole(peer, ['following', 'observing'], (role) => {
        const following = ownParts(role) as unknown as FollowingInside
        change(following.learner, peer, following)
      }),
  }
}

/** Changes each role of these names that the peer takes on. */
export function onRole(
  peer: EnsemblePeer,
  names: readonly string[],
  change: (role: Part, peer: EnsemblePeer) => void,
): void {
  replace<[Part], void>(peer, 'change', (original) => (role) => {
    if (names.includes(role.name as string)) change(role, peer)
    original(role)
  })
}

/** Lets the parts of a role be changed for this role only. */
function ownParts(role: Part): Part {
  role.parts = { ...inside(role, 'parts') }
  return role
}

/** Skips every `n`-th call. */
export function skipping(n: number): (original: (...args: unknown[]) => void) => typeof original {
  let calls = 0
  return (original) =>
    (...args) => {
      if (++calls % n !== 0) original(...args)
    }
}
