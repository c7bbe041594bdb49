import type { UnpreparedClient } from '../clients/client.ts'
import type { Stage } from './stage.ts'

/** A program that other people wrote and that needs a ZooKeeper, run as it is. */
export interface Application {
  readonly name: string
  /** What is done with it, in a few words. */
  readonly exercise: string
  /** Brings it onto this machine. Never throws: what cannot be had is said. */
  prepare(): Promise<PreparedApplication | UnpreparedClient>
}

export interface PreparedApplication {
  readonly ok: true
  readonly version: string
  /** Throws where something is not as it must be; otherwise says in numbers what was seen. */
  run(stage: Stage): Promise<string>
}
