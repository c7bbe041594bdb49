import type { UnpreparedClient } from '../clients/client.ts'
import type { Stage } from './stage.ts'

/** A third-party program that needs ZooKeeper, run unmodified. */
export interface Application {
  readonly name: string
  /** A short description of what is tested. */
  readonly exercise: string
  /** Downloads it. Never throws: the result says what is not available. */
  prepare(): Promise<PreparedApplication | UnpreparedClient>
}

export interface PreparedApplication {
  readonly ok: true
  readonly version: string
  /** Throws if something is wrong; otherwise returns numbers that describe the run. */
  run(stage: Stage): Promise<string>
}
