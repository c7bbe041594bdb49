import type { Database, Disk, EnsemblePeer, Journal, Peer, TxnLog } from '@zabra/core'
import type { ZabKnobs } from '../cluster/server-options.ts'
import type { FaultKind } from '../faults/schedule.ts'
import type { Shape } from '../cluster/shape.ts'
import type { SimDisk } from '../world/sim-disk.ts'

/** The parts of a server about to serve. */
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
  /** Another disk in place of the real one. */
  readonly disk?: (disk: Disk, under: SimDisk) => Disk
  /** Right after recovery. */
  readonly loaded?: (db: Database) => void
  readonly serving?: (parts: ServerParts) => void
  /** It is an error of an ensemble of so many; without, of a server on its own. */
  readonly servers?: number
  /** Where it shows only in ensembles of one kind. */
  readonly shape?: Shape
  /** It shows only where members come and go. */
  readonly isChanging?: boolean
  /** Where it shows only if followers take the observers. */
  readonly observerMasters?: boolean
  /** What it takes to show, and is rare otherwise. */
  readonly faults?: readonly FaultKind[]
  /** Where it shows only if leaders are configured so. */
  readonly zab?: ZabKnobs
  /** Where it shows only if an ensemble leaves it to the system when a log becomes durable. */
  readonly forceSync?: boolean
  readonly joined?: (peer: EnsemblePeer) => void
}
