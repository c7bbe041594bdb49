import type { ShellSession } from '../session.ts'

/** How a flag of zkCli.sh is used: alone, or with a value in the next word. */
export type FlagKind = 'flag' | 'value'

export interface ZkInvocation {
  readonly session: ShellSession
  /** Values by flag; a flag without a value is ''. */
  readonly flags: ReadonlyMap<string, string>
  readonly args: readonly string[]
}

/** A command of zkCli.sh. */
export interface ZkCommand {
  /** Behind its name, as zkCli.sh shows it. */
  readonly usage: string
  readonly summary: string
  readonly examples: readonly string[]
  readonly flags?: Readonly<Record<string, FlagKind>>
  /** More lines of the usage message. */
  readonly explained?: readonly string[]
  readonly argsMin?: number
  /** Works without a connection. */
  readonly isLocal?: boolean
  /** Resolves with the exit code; nothing is 0. */
  run(invocation: ZkInvocation): Promise<number | void>
}

/** A mistake in the use of a command; the message is for stderr. */
export class ZkUsageError extends Error {
  override readonly name = 'ZkUsageError'
}

/** A sentence for stderr, and exit code 1. */
export class ZkError extends Error {
  override readonly name = 'ZkError'
}

/** Flags and arguments in any order. Flags may stand together, as in `-sw`. */
export function parseZk(
  { flags = {}, argsMin = 0 }: ZkCommand,
  words: readonly string[],
  usage: () => string,
): Pick<ZkInvocation, 'flags' | 'args'> {
  const found = new Map<string, string>()
  const args: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (!word.startsWith('-') || word === '-' || isNumber(word)) {
      args.push(word)
      continue
    }
    for (const name of namesIn(word.slice(1), flags)) {
      if (flags[name] === 'flag') found.set(name, '')
      else {
        const value = words[++i]
        if (value === undefined) throw new ZkUsageError(`Missing argument for option: ${name}`)
        found.set(name, value)
      }
    }
  }
  if (args.length < argsMin) throw new ZkUsageError(usage())
  return { flags: found, args }
}

function isNumber(word: string): boolean {
  return /^-\d+$/.test(word)
}

/** Which flags a word holds: `members`, or `s` and `w` in `sw`. */
function namesIn(text: string, flags: Readonly<Record<string, FlagKind>>): string[] {
  if (Object.hasOwn(flags, text)) return [text]
  const letters = text.split('')
  const isKnown = (letter: string, index: number): boolean =>
    Object.hasOwn(flags, letter) && (flags[letter] === 'flag' || index === letters.length - 1)
  if (text === '' || !letters.every(isKnown))
    throw new ZkUsageError(`Unrecognized option: -${text}`)
  return letters
}

/** The number behind a flag. */
export function integerOf(flags: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = flags.get(name)
  if (text === undefined) return undefined
  if (!/^-?\d+$/.test(text)) throw new ZkUsageError(`-${name} needs a whole number, not ${text}`)
  return Number(text)
}

/** Writes with -1 go through whatever the version is. */
export function versionOf(flags: ReadonlyMap<string, string>): { readonly ifVersion?: number } {
  const version = integerOf(flags, 'v')
  return version === undefined || version === -1 ? {} : { ifVersion: version }
}
