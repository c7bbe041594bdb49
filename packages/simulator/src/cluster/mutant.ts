import type { Database, Disk, EnsemblePeer, Journal, Peer, TxnLog } from '@zabra/core'
import type { ZabKnobs } from './server-options.ts'
import type { FaultKind } from '../faults/schedule.ts'
import type { Shape } from './shape.ts'
import type { SimDisk } from '../world/sim-disk.ts'

/** The parts of a server that is about to serve. */
export interface ServerParts {
  readonly peer: Peer
  readonly journal: Journal
  readonly log: TxnLog
  readonly db: Database
  readonly disk: Disk
}

/** One deliberate error, put into a running server from outside. */
export interface Mutant {
  readonly name: string
  /** Replaces the disk. */
  readonly disk?: (disk: Disk, under: SimDisk) => Disk
  /** Called right after recovery. */
  readonly loaded?: (db: Database) => void
  readonly serving?: (parts: ServerParts) => void
  /** The size of the ensemble; a standalone server by default. */
  readonly servers?: number
  /** The shape of the ensemble that the error needs, if any. */
  readonly shape?: Shape
  /** Whether the error needs changes of members. */
  readonly isChanging?: boolean
  /** Whether the error needs followers that accept observers. */
  readonly observerMasters?: boolean
  /** Set if it shows only where sessions begin as local ones, or stay that. */
  readonly localSessions?: boolean | 'kept'
  /** Whether the error needs a restored tree at the end. */
  readonly restores?: boolean
  /** Faults that reveal the error and are rare otherwise. */
  readonly faults?: readonly FaultKind[]
  /** Settings of leaders that the error needs, if any. */
  readonly zab?: ZabKnobs
  /** Where it shows only if an ensemble leaves it to the system when a log becomes durable. */
  readonly forceSync?: boolean
  readonly joined?: (peer: EnsemblePeer) => void
}
