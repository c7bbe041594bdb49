import type { ManagedServer } from '../src/servers.ts'
import type { Check } from './catalogue.ts'

/** A ZooKeeper client of another project, and how to install it. */
export interface Client {
  readonly name: string
  readonly checks: readonly Check[]
  /** Installs and compiles what is needed. Never throws: the result says what is not available. */
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

/** A program that is ready to run. */
export interface Program {
  readonly ok: true
  readonly program: string
}

export type Verdict =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed'; readonly why: string }
  /** The client does not have the feature, so there is nothing to check. */
  | { readonly kind: 'absent'; readonly why: string }

export type Verdicts = ReadonlyMap<string, Verdict>

/** A preparation that failed, with the end of the failing tool's output. */
export function unprepared(what: string, output: string): UnpreparedClient {
  const told = output.trim().split('\n').slice(-8).join(' | ')
  return { ok: false, reason: `${what}: ${told === '' ? 'no explanation' : told}` }
}
