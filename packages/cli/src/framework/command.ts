import type { Invocation } from './invocation.ts'

/** The source of completions of a word. */
export type WordKind = 'path' | 'file' | 'context' | 'command' | 'text' | readonly string[]

/** A positional argument; its key is its name, `zooCfg` is shown as ZOO-CFG. */
export interface Argument {
  readonly kind: WordKind
  readonly help?: string
  readonly optional?: boolean
  /** All that follow; only the last argument. */
  readonly many?: boolean
}

/**
 * `flag` is true or absent, `duration` is in milliseconds (`500ms`, `10s`, `2m`), `size` in bytes
 * (`512`, `64k`, `1m`).
 */
export type OptionType = 'flag' | 'text' | 'integer' | 'duration' | 'size'

/** An option; its key is its name, `dryRun` is `--dry-run`. */
export interface Option {
  readonly type: OptionType
  readonly help: string
  /** One letter. */
  readonly short?: string
  /** May be given several times; the value is a list. */
  readonly many?: boolean
  /** Of an `integer`; 0 by default. */
  readonly min?: number
  /** The only values that are allowed. */
  readonly choices?: readonly string[]
  /** How its value is called in the help; `FILE`. */
  readonly value?: string
  /** The source of completions of its value. */
  readonly kind?: WordKind
}

export type Arguments = Readonly<Record<string, Argument>>
export type Options = Readonly<Record<string, Option>>

type ArgumentValue<A extends Argument> = A extends { many: true }
  ? readonly string[]
  : A extends { optional: true }
    ? string | undefined
    : string

type OneValue<O extends Option> = O['type'] extends 'flag'
  ? true
  : O['type'] extends 'text'
    ? O extends { choices: readonly (infer Choice)[] }
      ? Choice
      : string
    : number

type OptionValue<O extends Option> = O extends { many: true } ? readonly OneValue<O>[] : OneValue<O>

export type ArgumentValues<A extends Arguments> = {
  readonly [Key in keyof A]: ArgumentValue<A[Key]>
}
export type OptionValues<O extends Options> = { readonly [Key in keyof O]?: OptionValue<O[Key]> }

/** An example: the command line, and what it does. */
export type Example = readonly [line: string, meaning: string]

/** A command of `zabra`, in a file of its own that exports it as `command`. */
export interface Command<A extends Arguments = Arguments, O extends Options = Options> {
  readonly kind: 'command'
  readonly arguments?: A
  readonly options?: O
  /** Takes `-- PROGRAM ARGUMENTS`, which `run` finds in `program`. */
  readonly program?: 'optional' | 'required'
  /** Does not talk to servers: it has no options to connect. */
  readonly offline?: true
  /** Paragraphs below the usage. */
  readonly details?: string
  readonly examples: readonly Example[]
  /** Resolves with the exit code, one of `exitCodes` or that of a program; nothing is 0. */
  run(invocation: Invocation<A, O>): Promise<number | void>
}

/** A command with commands of its own, as `zabra acl get`. */
export interface CommandGroup {
  readonly kind: 'group'
  readonly commands: CommandTable
  /** The command that runs if options follow the name of the group, as in `zabra backup --output DIR`. */
  readonly main?: (() => Promise<{ readonly command: Command }>) | undefined
}

/** A command that reads its command line itself. */
export interface RawCommand {
  readonly kind: 'raw'
  /** The source of completions of the words after it. */
  readonly words?: WordKind
  run(args: readonly string[]): Promise<number>
}

export type AnyCommand = Command | CommandGroup | RawCommand

/** A line of a table: what a command does, and where it is. Its file is loaded when it is used. */
export interface CommandEntry {
  readonly summary: string
  readonly isHidden?: boolean
  load(): Promise<{ readonly command: AnyCommand }>
}

export type CommandTable = Readonly<Record<string, CommandEntry>>

/** Checks the types of a command: `run` gets its arguments and options by name. */
export function defineCommand<
  const A extends Arguments = Record<'', never>,
  const O extends Options = Record<'', never>,
>(command: Omit<Command<A, O>, 'kind'>): Command {
  return { ...command, kind: 'command' } as unknown as Command
}

export function defineGroup(commands: CommandTable, main?: CommandGroup['main']): CommandGroup {
  return { kind: 'group', commands, main }
}

export function defineRawCommand(command: Omit<RawCommand, 'kind'>): RawCommand {
  return { ...command, kind: 'raw' }
}
