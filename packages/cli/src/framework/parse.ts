import { parseArgs, type ParseArgsConfig } from 'node:util'
import { connectionOptions } from '../connection/options.ts'
import type { Argument, Command, Option, Options } from './command.ts'
import { UsageError } from './errors.ts'
import { kebab, metavar } from './names.ts'
import { nearest } from './nearest.ts'
import { parseDuration, parseInteger, parseSize } from './values.ts'

/** Options that every command has. */
export const commonOptions = {
  json: { type: 'flag', help: 'print JSON' },
  quiet: { type: 'flag', short: 'q', help: 'no progress and no remarks on stderr' },
  color: {
    type: 'text',
    value: 'WHEN',
    choices: ['auto', 'always', 'never'],
    help: 'color the output: auto, always or never',
  },
  help: { type: 'flag', short: 'h', help: 'this text' },
} as const satisfies Options

export type Values = Readonly<Record<string, unknown>>

export interface Parsed {
  readonly arguments: Values
  /** The command's own, the common ones and those to connect. */
  readonly options: Values
  /** After `--`, where the command takes a program. */
  readonly program: readonly string[]
}

/** All options of a command, by key. A command's own come first. */
export function optionsOf(command: Command): Options {
  const own = command.options ?? {}
  return { ...commonOptions, ...(command.offline === true ? {} : connectionOptions), ...own }
}

/** Reads a command line; throws a UsageError that says what is wrong. */
export function parse(command: Command, words: readonly string[]): Parsed {
  const options = optionsOf(command)
  const end = command.program === undefined ? -1 : words.indexOf('--')
  const own = end < 0 ? words : words.slice(0, end)
  const program = end < 0 ? [] : words.slice(end + 1)
  const { values, positionals } = parseWords(options, own)
  if (values['help'] === true) return { arguments: {}, options: { help: true }, program }
  const read: Record<string, unknown> = {}
  for (const [key, option] of Object.entries(options)) {
    const given = values[kebab(key)]
    if (given === undefined) continue
    const name = `--${kebab(key)}`
    read[key] = Array.isArray(given)
      ? given.map((one) => valueOf(name, option, one))
      : valueOf(name, option, given)
  }
  if (command.program === 'required' && program.length === 0)
    throw new UsageError('no program to run', 'put it behind --, as in `-- ./task --fast`')
  return { arguments: readArguments(command.arguments ?? {}, positionals), options: read, program }
}

function parseWords(options: Options, words: readonly string[]) {
  const config: NonNullable<ParseArgsConfig['options']> = {}
  for (const [key, { type, short, many }] of Object.entries(options)) {
    config[kebab(key)] = {
      type: type === 'flag' ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
      ...(many === true ? { multiple: true } : {}),
    }
  }
  try {
    return parseArgs({ args: [...words], options: config, allowPositionals: true })
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const [, option = ''] = /'(-[^']*)'/.exec(message) ?? []
    if (message.includes('argument is ambiguous')) throw beginsWithDash(option, config)
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(plainMessage(message))
    if (/^-\d/.test(option))
      throw new UsageError(
        `unknown option ${option}`,
        `an argument that begins with - follows --, as in \`-- ${words.find((word) => word.startsWith(option))}\``,
      )
    const near = nearest(
      option,
      Object.keys(options).map((key) => `--${kebab(key)}`),
    )
    throw new UsageError(
      `unknown option ${option}`,
      near === undefined ? undefined : `did you mean ${near}?`,
    )
  }
}

/** `-n -1`: the value of an option that looks like an option itself. */
function beginsWithDash(
  option: string,
  known: NonNullable<ParseArgsConfig['options']>,
): UsageError {
  const [name = option] =
    Object.entries(known).find(([, { short }]) => `-${short}` === option) ?? []
  const long = `--${name.replace(/^--/, '')}`
  return new UsageError(
    `${option} needs a value`,
    `one that begins with - follows =, as in \`${long}=-x\``,
  )
}

/** Node's sentences end in advice about `--` that only helps sometimes. */
function plainMessage(message: string): string {
  const [sentence = message] = message.split(/\.\s|\n/)
  return sentence.replace(/^Option/, 'option').replace(/ <value>/, '')
}

function valueOf(name: string, { type, choices, min = 0 }: Option, given: unknown): unknown {
  if (typeof given !== 'string') return given
  if (choices !== undefined && !choices.includes(given))
    throw new UsageError(
      `${name} is ${choices.join(', ').replace(/, ([^,]*)$/, ' or $1')}, not '${given}'`,
    )
  switch (type) {
    case 'integer':
      return parseInteger(name, given, min)
    case 'duration':
      return parseDuration(name, given)
    case 'size':
      return parseSize(name, given)
    default:
      return given
  }
}

function readArguments(
  specs: Readonly<Record<string, Argument>>,
  given: readonly string[],
): Record<string, unknown> {
  const read: Record<string, unknown> = {}
  let taken = 0
  for (const [key, { optional, many }] of Object.entries(specs)) {
    if (many === true) {
      const all = given.slice(taken)
      if (all.length === 0 && optional !== true) throw new UsageError(`${metavar(key)} is missing`)
      read[key] = all
      return read
    }
    const value = given[taken]
    if (value === undefined && optional !== true) throw new UsageError(`${metavar(key)} is missing`)
    if (value !== undefined) {
      read[key] = value
      taken++
    }
  }
  if (given.length > taken) throw new UsageError(`one argument too many: '${given[taken]}'`)
  return read
}
