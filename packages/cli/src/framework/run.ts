import { setMaxListeners } from 'node:events'
import type { Client } from '@zabra/client'
import { Output } from '../output/output.ts'
import {
  connectionSettings,
  type ConnectionSettings,
  type ConnectionValues,
} from '../connection/settings.ts'
import type { AnyCommand, Command, CommandGroup, CommandTable } from './command.ts'
import { UsageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import type { Invocation } from './invocation.ts'
import { processIo, type Io } from './io.ts'
import { parse } from './parse.ts'

/** The command and arguments named by a command line. */
export interface Resolved {
  /** `acl get`. */
  readonly name: string
  readonly summary: string
  readonly command: AnyCommand
  readonly rest: readonly string[]
  /** Whose command without a name of its own this is. */
  readonly group?: CommandGroup
}

/** Finds the command, through groups. A group without a command of its own is returned as it is. */
export async function resolveCommand(
  table: CommandTable,
  words: readonly string[],
  prefix = '',
): Promise<Resolved | undefined> {
  const [word = '', ...rest] = words
  const entry = Object.hasOwn(table, word) ? table[word] : undefined
  if (entry === undefined) return undefined
  const { command } = await entry.load()
  const name = prefix + word
  if (command.kind === 'group') {
    const inner = await resolveCommand(command.commands, rest, `${name} `)
    if (inner !== undefined) return inner
    const isMain = rest[0] === undefined || rest[0].startsWith('-')
    if (isMain && command.main !== undefined) {
      const { command: main } = await command.main()
      return { name, summary: entry.summary, command: main, rest, group: command }
    }
  }
  return { name, summary: entry.summary, command, rest }
}

export interface RunOptions {
  readonly io?: Io
  readonly signal?: AbortSignal
  /** A client to use instead of connecting, which stays open: that of the shell. */
  readonly client?: Client
  readonly settings?: ConnectionSettings
  /** How the shell asks, and lends its terminal. */
  readonly confirm?: Invocation['confirm']
  readonly handOver?: Invocation['handOver']
}

/** Runs a command line of `zabra`; resolves with the exit code, and never rejects. */
export async function run(
  table: CommandTable,
  words: readonly string[],
  options: RunOptions = {},
): Promise<number> {
  const { io = processIo } = options
  const wantsJson = words.includes('--json')
  try {
    return await runWords(table, words, options)
  } catch (error) {
    const { describeError } = await import('./describe-error.ts')
    const { code, message, path, hint, exitCode } = describeError(error)
    if (wantsJson) {
      io.stderr.write(`${JSON.stringify({ error: { code, message, path, hint } })}\n`)
    } else if (exitCode !== exitCodes.interrupted) {
      io.stderr.write(`zabra: ${message}\n${hint === undefined ? '' : `  ${hint}\n`}`)
    }
    return exitCode
  }
}

async function runWords(
  table: CommandTable,
  words: readonly string[],
  options: RunOptions,
): Promise<number> {
  const [first = ''] = words
  if (words.length === 0 || first === 'help' || first === '--help' || first === '-h')
    return showHelp(table, words.slice(1), options, words.length === 0)
  if (first === '--version' || first === '-V') return runWords(table, ['version'], options)
  if (first.startsWith('-'))
    throw new UsageError(
      `the command comes first, then ${first}`,
      'for example `zabra ls / --json`',
    )
  const resolved = await resolveCommand(table, words)
  if (resolved === undefined) {
    const { nearest } = await import('./nearest.ts')
    const near = nearest(first, Object.keys(table))
    throw new UsageError(
      `unknown command '${first}'`,
      near === undefined ? '`zabra help` lists the commands' : `did you mean \`zabra ${near}\`?`,
    )
  }
  const { command, name, rest } = resolved
  switch (command.kind) {
    case 'raw':
      return command.run(rest)
    case 'group': {
      const [word] = rest
      if (word === undefined || word === '--help' || word === '-h')
        return showHelp(table, name.split(' '), options, word === undefined)
      throw new UsageError(
        `\`zabra ${name}\` has no command '${word}'`,
        `it has ${Object.keys(command.commands).join(', ')}`,
      )
    }
    case 'command':
      return runCommand(table, name, command, rest, options)
  }
}

async function showHelp(
  table: CommandTable,
  words: readonly string[],
  { io = processIo, client }: RunOptions,
  isMistake: boolean,
): Promise<number> {
  const { helpFor } = await import('./help.ts')
  const { chooseStyle } = await import('../output/style.ts')
  const stream = isMistake ? io.stderr : io.stdout
  const style = chooseStyle(stream.isTTY === true, undefined, io.env)
  const isInShell = client !== undefined
  const columns = stream.isTTY === true ? stream.columns : undefined
  stream.write(await helpFor(table, words, style, { isInShell, columns }))
  return isMistake ? exitCodes.usage : exitCodes.ok
}

async function runCommand(
  table: CommandTable,
  name: string,
  command: Command,
  words: readonly string[],
  given: RunOptions,
): Promise<number> {
  const { io = processIo } = given
  let parsed
  try {
    parsed = parse(command, words)
  } catch (error) {
    if (!(error instanceof UsageError) || error.hint !== undefined) throw error
    throw new UsageError(error.message, `\`zabra help ${name}\` shows its use`)
  }
  const { options, program } = parsed
  if (options['help'] === true) return showHelp(table, name.split(' '), given, false)
  const out = new Output(io, {
    json: options['json'] === true,
    quiet: options['quiet'] === true,
    color: options['color'] as string | undefined,
  })
  const interrupt = given.signal === undefined ? onInterrupt() : undefined
  const signal = given.signal ?? interrupt!.signal
  let client: Promise<Client> | undefined
  const settings = (): ConnectionSettings =>
    given.settings ?? connectionSettings(options as ConnectionValues, io.env)
  const invocation: Invocation = {
    args: parsed.arguments as never,
    options: options as never,
    program,
    out,
    io,
    signal,
    settings,
    connect: ({ isLasting = false } = {}) =>
      (client ??=
        given.client === undefined
          ? connect(settings(), out, signal, isLasting)
          : Promise.resolve(isLasting ? given.client.patient : given.client)),
    confirm:
      given.confirm ??
      (async (question, flag) => {
        const { confirm } = await import('./confirm.ts')
        return confirm(io, question, flag, signal)
      }),
    handOver: given.handOver ?? ((act) => act()),
  }
  try {
    return (await command.run(invocation)) ?? exitCodes.ok
  } finally {
    out.endProgress()
    interrupt?.stop()
    if (given.client === undefined) await client?.then((it) => it.close()).catch(() => {})
  }
}

async function connect(
  settings: ConnectionSettings,
  out: Output,
  signal: AbortSignal,
  isLasting: boolean,
): Promise<Client> {
  const { openClient } = await import('../connection/connect.ts')
  const { servers, origin, timeoutMs } = settings
  const seconds = Math.round(timeoutMs / 1000)
  return openClient(settings, {
    signal,
    isLasting,
    onSlow: () => out.note(`no connection to ${servers} (${origin}) yet, trying for ${seconds} s`),
  })
}

/** The first signal asks the command to end, the second ends the process. */
function onInterrupt(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  // One listener for each request in flight is no leak.
  setMaxListeners(0, controller.signal)
  const abort = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted)
    // The terminal has printed ^C; what follows begins a line of its own.
    if (name === 'SIGINT' && process.stderr.isTTY) process.stderr.write('\n')
    controller.abort()
  }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, abort)
  return {
    signal: controller.signal,
    stop: () => {
      for (const name of names) process.off(name, abort)
    },
  }
}
