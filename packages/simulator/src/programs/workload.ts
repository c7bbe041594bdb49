import type { Client, ResumableSession } from '@zabra/client'
import type { Random } from '../world/random.ts'
import type { ProgramProcess } from '../host/program-process.ts'
import type { Stage } from './stage.ts'

/** One life of a program, as a workload sees it. */
export interface Actor {
  /** The number of the program, counted from 0. */
  readonly index: number
  /** The number of its life, counted from 1. */
  readonly life: number
  readonly name: string
  readonly process: ProgramProcess
  readonly chance: Random
  readonly client: Client
  /** Another client of this program; of a session that it continues, if there is one. */
  readonly connect: (session?: ResumableSession) => Client
}

/** The actions of programs in a run, and the checks. One object per run. */
export interface Workload {
  /** Called before any fault. */
  setUp?(client: Client): Promise<void>
  /** Called for each new client: the first of a life, or one after the end of a session. */
  begin?(actor: Actor): void
  /** Called again and again; may fail with the errors of client calls. */
  turn(actor: Actor): Promise<void>
  /** Whether a program continues after its last turn until all are done, because others need it. */
  readonly needsAll?: boolean
  /**
   * Called when all faults are over and every program has had a turn: what is wrong, as a sentence.
   */
  unrest?(): string | undefined
  /** Like `unrest`, called once at the end. */
  check?(): void
  /** Nodes that may remain after all programs have left. */
  mayStay?(path: string): boolean
}

export type MakeWorkload = (stage: Stage) => Workload
