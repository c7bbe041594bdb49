import type { ServerState } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import type { Decision } from '../../consensus/election/election.ts'
import type { DigestMismatch } from '../../state/digest-check.ts'
import type { PeerPort } from '../ensemble-parts.ts'
import type { PacketLink } from '../links/packet-link.ts'

/** The roles of a server of an ensemble. It has one at a time. */
export type RoleName =
  /** Not running yet. */
  | 'starting'
  | 'looking'
  | 'leading'
  /** Connecting to the server that brings this one up. */
  | 'dialing'
  | 'following'
  | 'observing'
  /** Brings memory and disk in line after a role has ended. */
  | 'leaving'
  /** Waits before it looks for a leader again. */
  | 'pausing'
  /** The disk is too full to promise an epoch. */
  | 'waitingForRoom'
  | 'stopped'

/** A change of configuration may name the next leader; then there is no election. */
const next = ['looking', 'leading', 'dialing', 'stopped'] as const

const legalChanges: Readonly<Record<RoleName, readonly RoleName[]>> = {
  starting: ['looking', 'stopped'],
  looking: ['leading', 'dialing', 'stopped'],
  leading: ['leaving', 'stopped'],
  dialing: ['following', 'observing', 'leaving', 'stopped'],
  following: ['leaving', 'stopped'],
  observing: ['leaving', 'stopped'],
  leaving: [...next, 'pausing', 'waitingForRoom'],
  pausing: [...next, 'waitingForRoom'],
  waitingForRoom: ['looking', 'stopped'],
  stopped: [],
}

/** No learner goes from one leader to another, and no leader follows, without leaving its role. */
export function assertLegalChange(from: RoleName, to: RoleName): void {
  assert(legalChanges[from].includes(to), `a server that is ${from} cannot begin ${to}`)
}

/** The events that the present role of a server handles. A role ignores events that do not concern it. */
export interface RoleInputs {
  readonly name: RoleName
  /** The role that this server announces to others. */
  readonly state: ServerState
  /** Makes the role end, with this reason. */
  end?(reason: Error): void
  tick?(): void
  halfTick?(): void
  /** Time passed in one turn of the host. */
  passed?(beforeMs: number, nowMs: number): void
  /** The log holds everything up to here. */
  logged?(zxid: bigint): void
  /** A learner connected; false if this role takes none on that port. */
  accept?(link: PacketLink, port: PeerPort): boolean
  /** The election has decided. */
  decided?(decision: Decision): void
  /** The members changed: the election starts over. False if no election is on. */
  restartElection?(): boolean
  /** The tree has not the digest that it has on the leader. */
  treeDiffers?(mismatch: DigestMismatch): void
  /** Too many voters want another leader for a quorum to form. */
  deserted?(): void
}

/** One role: begins when it is run, and ends when the promise settles. */
export interface Role<Result> extends RoleInputs {
  run(): Promise<Result>
}

export const starting: RoleInputs = { name: 'starting', state: 'looking' }
export const stopped: RoleInputs = { name: 'stopped', state: 'looking' }
