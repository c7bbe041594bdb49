import { connectionOptions } from '../connection/options.ts'
import { widthOf, type Style } from '../output/style.ts'
import { groups } from '../table/index.ts'
import type { Command, CommandGroup, CommandTable, Options } from './command.ts'
import { UsageError } from './errors.ts'
import { kebab, metavar } from './names.ts'
import { commonOptions } from './parse.ts'
import { resolveCommand } from './run.ts'

/** The text of `zabra help WORDS`. A shell is connected, so options to connect are left out there. */
export async function helpFor(
  table: CommandTable,
  words: readonly string[],
  style: Style,
  { isInShell = false }: { readonly isInShell?: boolean } = {},
): Promise<string> {
  if (words.length === 0) return overview(style)
  const resolved = await resolveCommand(table, words)
  if (resolved === undefined)
    throw new UsageError(`unknown command '${words.join(' ')}'`, '`zabra help` lists the commands')
  const { name, summary, command, group } = resolved
  switch (command.kind) {
    case 'raw':
      return `zabra ${name}: ${summary}\n\n\`zabra ${name} --help\` tells more.\n`
    case 'group':
      return helpOfGroup(name, command, style)
    case 'command': {
      const text = helpOfCommand(name, summary, command, style, isInShell)
      return group === undefined ? text : `${text}\n${helpOfGroup(name, group, style)}`
    }
  }
}

function helpOfGroup(name: string, { commands }: CommandGroup, style: Style): string {
  const lines = Object.entries(commands).map(
    ([word, entry]) => [`zabra ${name} ${word}`, entry.summary] as const,
  )
  return `${style.bold('Commands:')}\n${pairs(lines)}\n\`zabra help ${name} COMMAND\` tells more.\n`
}

function overview(style: Style): string {
  const parts = [`${style.bold('Usage:')} zabra COMMAND [ARGUMENTS] [OPTIONS]\n`]
  for (const { title, commands } of groups) {
    const shown = Object.entries(commands).filter(([, { isHidden }]) => isHidden !== true)
    if (shown.length === 0) continue
    const lines = shown.map(([name, { summary }]) => [name, summary] as const)
    parts.push(`${style.bold(`${title}:`)}\n${pairs(lines)}`)
  }
  parts.push(
    '`zabra help COMMAND` shows arguments, options and examples.\n' +
      'Servers: --servers, --context, ZABRA_SERVERS, `zabra context use`; 127.0.0.1:2181 by default.\n',
  )
  return parts.join('\n')
}

function helpOfCommand(
  name: string,
  summary: string,
  command: Command,
  style: Style,
  isInShell: boolean,
): string {
  const own = command.options ?? {}
  const common: Options = Object.fromEntries(
    Object.entries(commonOptions).filter(([key]) => !Object.hasOwn(own, key)),
  )
  const parts = [`${summary}.\n`, `${style.bold('Usage:')} zabra ${name}${usage(command)}\n`]
  const explained = Object.entries(command.arguments ?? {}).flatMap(([key, { help }]) =>
    help === undefined ? [] : [[metavar(key), help] as const],
  )
  if (explained.length > 0) parts.push(`${style.bold('Arguments:')}\n${pairs(explained)}`)
  if (command.details !== undefined) parts.push(`${command.details.trim()}\n`)
  parts.push(`${style.bold('Options:')}\n${pairs([...optionLines(own), ...optionLines(common)])}`)
  if (command.examples.length > 0)
    parts.push(
      `${style.bold('Examples:')}\n${command.examples
        .map(([line, meaning]) => `  ${line}\n      ${meaning}\n`)
        .join('')}`,
    )
  if (command.offline !== true && !isInShell) {
    const connecting: Options = Object.fromEntries(
      Object.entries(connectionOptions).filter(([key]) => !Object.hasOwn(own, key)),
    )
    parts.push(`${style.bold('Options to connect:')}\n${pairs(optionLines(connecting))}`)
  }
  return parts.join('\n')
}

function usage(command: Command): string {
  const words = Object.entries(command.arguments ?? {}).map(([key, { kind, optional, many }]) => {
    const shown = typeof kind === 'string' ? metavar(key) : kind.join('|')
    const repeated = many === true ? `${shown}...` : shown
    return optional === true ? `[${repeated}]` : repeated
  })
  words.push('[OPTIONS]')
  if (command.program === 'required') words.push('-- PROGRAM [ARGUMENTS]')
  if (command.program === 'optional') words.push('[-- PROGRAM [ARGUMENTS]]')
  return words.map((word) => ` ${word}`).join('')
}

function optionLines(options: Options): (readonly [string, string])[] {
  return Object.entries(options).map(([key, { type, short, value, help }]) => {
    const name = `${short === undefined ? '    ' : `-${short}, `}--${kebab(key)}`
    return [type === 'flag' ? name : `${name} ${value ?? 'VALUE'}`, help] as const
  })
}

/** Two columns; a name that is too long gets a line of its own. */
function pairs(lines: readonly (readonly [string, string])[]): string {
  const widest = Math.min(28, Math.max(...lines.map(([name]) => widthOf(name))))
  return lines
    .map(([name, text]) =>
      widthOf(name) > widest
        ? `  ${name}\n  ${' '.repeat(widest)}  ${text}\n`
        : `  ${name}${' '.repeat(widest - widthOf(name))}  ${text}\n`,
    )
    .join('')
}
