import type { Client } from '@zabra/client'
import type { commonOptions } from './parse.ts'
import type { connectionOptions } from '../connection/options.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import type { Output } from '../output/output.ts'
import type { Arguments, ArgumentValues, Options, OptionValues } from './command.ts'
import type { Io } from './io.ts'

export interface ConnectChoices {
  /** Calls have no deadline of their own: for commands that wait as long as it takes. */
  readonly isLasting?: boolean
}

/** One use of a command: what was typed, and everything a command may touch. */
export interface Invocation<A extends Arguments = Arguments, O extends Options = Options> {
  readonly args: ArgumentValues<A>
  readonly options: OptionValues<O & typeof commonOptions & typeof connectionOptions>
  /** After `--`. */
  readonly program: readonly string[]
  readonly out: Output
  readonly io: Io
  /** Aborts on Ctrl-C and SIGTERM; a second Ctrl-C ends the process. */
  readonly signal: AbortSignal
  /** Servers and identities by options, environment and contexts. */
  readonly settings: () => ConnectionSettings
  /** The client of this invocation: connected at the first call, closed when the command ends. */
  readonly connect: (choices?: ConnectChoices) => Promise<Client>
  /**
   * Asks on the terminal. Without one, or with --json, it throws a UsageError that names `flag`,
   * the option that answers yes.
   */
  readonly confirm: (question: string, flag: string) => Promise<boolean>
  /**
   * Lends the terminal to another program, an editor for example, until `act` resolves. Always
   * start programs that inherit stdin inside it: the shell reads stdin otherwise.
   */
  readonly handOver: <T>(act: () => Promise<T>) => Promise<T>
}
