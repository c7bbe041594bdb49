import type { ManagedServer } from '../src/servers.ts'
import type { Check } from './catalogue.ts'

/** A foreign client of ZooKeeper, and how to bring it onto this machine. */
export interface Client {
  readonly name: string
  readonly checks: readonly Check[]
  /** Installs and compiles what is needed. Never throws: what cannot be had is said. */
  prepare(): Promise<PreparedClient | UnpreparedClient>
}

export interface PreparedClient {
  readonly ok: true
  readonly version: string
  run(server: ManagedServer): Promise<Verdicts>
}

export interface UnpreparedClient {
  readonly ok: false
  readonly reason: string
}

/** Something that can be run now. */
export interface Program {
  readonly ok: true
  readonly program: string
}

export type Verdict =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed'; readonly why: string }
  /** The client has no such feature, so there is nothing to check. */
  | { readonly kind: 'absent'; readonly why: string }

export type Verdicts = ReadonlyMap<string, Verdict>

/** A preparation that could not be finished, with the end of what the failing tool said. */
export function unprepared(what: string, output: string): UnpreparedClient {
  const told = output.trim().split('\n').slice(-8).join(' | ')
  return { ok: false, reason: `${what}: ${told === '' ? 'no explanation' : told}` }
}
