import type { Client } from '@zabra/client'
import type { Random } from '../world/random.ts'
import type { ProgramProcess } from '../host/program-process.ts'
import type { Stage } from './stage.ts'

/** One life of a program, as a workload sees it. */
export interface Actor {
  /** Which program, counted from 0. */
  readonly index: number
  /** Which life of it, counted from 1. */
  readonly life: number
  readonly name: string
  readonly process: ProgramProcess
  readonly chance: Random
  readonly client: Client
}

/** What programs do in a run, and what must be true of it. One object for each run. */
export interface Workload {
  /** Made before anything goes wrong. */
  setUp?(client: Client): Promise<void>
  /** A new client was made, in this life the first or after the end of one. */
  begin?(actor: Actor): void
  /** Something to do, again and again; it may fail as calls of a client may. */
  turn(actor: Actor): Promise<void>
  /** Who is done goes on all the same until everybody is: others need them. */
  readonly needsAll?: boolean
  /** Nothing is wrong, and everybody has had a turn: what is not as it must be, as a sentence. */
  unrest?(): string | undefined
  /** As `unrest`, once and in the end. */
  check?(): void
  /** Nodes that may stay when everybody has gone. */
  mayStay?(path: string): boolean
}

export type MakeWorkload = (stage: Stage) => Workload
