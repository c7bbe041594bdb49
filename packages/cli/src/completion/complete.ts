import type { Client } from '@zabra/client'
import type { Command, CommandTable, Option, WordKind } from '../framework/command.ts'
import { kebab } from '../framework/names.ts'
import { optionsOf } from '../framework/parse.ts'

export interface Candidate {
  readonly word: string
  readonly help: string
}

/** `path`: no blank behind the word. `file`: names of files, which the shell knows best. */
export interface Completion {
  readonly mode: 'words' | 'path' | 'file'
  readonly candidates: readonly Candidate[]
}

export interface CompletionOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** A client to ask for paths; without one a connection is made. */
  readonly client?: Client | undefined
}

const noCompletion: Completion = { mode: 'words', candidates: [] }

/** How long a person waits for the candidates. */
const patienceMs = 1000

/** Completes the last word of a command line, which may be empty. */
export async function complete(
  table: CommandTable,
  words: readonly string[],
  options: CompletionOptions,
): Promise<Completion> {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const [first] = before
  if (first === undefined) return commandNames(table, typed)
  if (first === 'help') return complete(table, words.slice(1), options)
  const entry = Object.hasOwn(table, first) ? table[first] : undefined
  if (entry === undefined) return noCompletion
  const { command } = await entry.load()
  if (command.kind === 'group') {
    const isMain = (words[1] ?? '').startsWith('-')
    if (!isMain || command.main === undefined)
      return complete(command.commands, words.slice(1), options)
    const { command: main } = await command.main()
    return inCommand(main, before.slice(1), typed, options)
  }
  if (command.kind === 'raw')
    return ofKind(command.words ?? 'text', typed, before, undefined, options)
  return inCommand(command, before.slice(1), typed, options)
}

function commandNames(table: CommandTable, typed: string): Completion {
  const names = Object.entries(table).filter(([, { isHidden }]) => isHidden !== true)
  return matching(
    names.map(([word, { summary }]) => ({ word, help: summary })),
    typed,
  )
}

function inCommand(
  command: Command,
  before: readonly string[],
  typed: string,
  options: CompletionOptions,
): Promise<Completion> | Completion {
  const known = Object.entries(optionsOf(command)).map(([key, option]) => ({
    name: `--${kebab(key)}`,
    option,
  }))
  if (command.program !== undefined && before.includes('--'))
    return { mode: 'file', candidates: [] }
  const named = (word: string): Option | undefined =>
    known.find(({ name, option }) => name === word || `-${option.short}` === word)?.option
  const given: string[] = []
  for (let i = 0; i < before.length; i++) {
    const word = before[i]!
    if (!word.startsWith('-') || word === '-') {
      given.push(word)
      continue
    }
    const option = named(word)
    if (option === undefined || option.type === 'flag') continue
    if (i === before.length - 1)
      return ofKind(option.choices ?? option.kind ?? 'text', typed, before, command, options)
    i++
  }
  if (typed.startsWith('-'))
    return matching(
      known.map(({ name, option: { help } }) => ({ word: name, help })),
      typed,
    )
  const specs = Object.values(command.arguments ?? {})
  const spec = specs[given.length] ?? (specs.at(-1)?.many === true ? specs.at(-1) : undefined)
  return spec === undefined ? noCompletion : ofKind(spec.kind, typed, before, command, options)
}

async function ofKind(
  kind: WordKind,
  typed: string,
  before: readonly string[],
  command: Command | undefined,
  options: CompletionOptions,
): Promise<Completion> {
  switch (kind) {
    case 'path':
      return { mode: 'path', candidates: await paths(typed, before, command, options) }
    case 'file':
      return { mode: 'file', candidates: [] }
    case 'context': {
      const { readContexts } = await import('../connection/contexts.ts')
      const { contexts } = readContexts(options.env)
      return matching(
        Object.entries(contexts).map(([word, { servers }]) => ({ word, help: servers })),
        typed,
      )
    }
    case 'text':
    case 'command':
      return noCompletion
    default:
      return matching(
        kind.map((word) => ({ word, help: '' })),
        typed,
      )
  }
}

function matching(candidates: readonly Candidate[], typed: string): Completion {
  return { mode: 'words', candidates: candidates.filter(({ word }) => word.startsWith(typed)) }
}

/** The children of what is typed up to its last slash. No server is no reason to complain here. */
async function paths(
  typed: string,
  before: readonly string[],
  command: Command | undefined,
  { client, env }: CompletionOptions,
): Promise<readonly Candidate[]> {
  if (typed !== '' && !typed.startsWith('/')) return []
  if (client !== undefined) return childPaths(client, typed)
  let own: Client | undefined
  try {
    const { openClient } = await import('../connection/connect.ts')
    const { connectionSettings } = await import('../connection/settings.ts')
    const settings = connectionSettings(connectionValues(command, before), env)
    own = await openClient({ ...settings, timeoutMs: patienceMs })
    return await childPaths(own, typed)
  } catch {
    return []
  } finally {
    await own?.close()
  }
}

/** Options to connect may stand before the word that is typed. */
function connectionValues(command: Command | undefined, before: readonly string[]) {
  const values: Record<string, unknown> = {}
  if (command === undefined) return values
  for (const [key, { type, many }] of Object.entries(optionsOf(command))) {
    const at = before.findLastIndex((word) => word === `--${kebab(key)}`)
    if (at < 0) continue
    if (type === 'flag') values[key] = true
    else if (type === 'text' && before[at + 1] !== undefined)
      values[key] = many === true ? [before[at + 1]] : before[at + 1]
  }
  return values
}

/** Paths of nodes that begin with what is typed. */
export async function childPaths(client: Client, typed: string): Promise<readonly Candidate[]> {
  const slash = typed.lastIndexOf('/')
  const parent = typed.slice(0, Math.max(1, slash)) || '/'
  const names = await client.children(parent, { timeoutMs: patienceMs }).catch((): string[] => [])
  const start = parent === '/' ? '/' : `${parent}/`
  return names
    .filter((name) => `${start}${name}`.startsWith(typed === '' ? '/' : typed))
    .toSorted()
    .map((name) => ({ word: start + name, help: '' }))
}
