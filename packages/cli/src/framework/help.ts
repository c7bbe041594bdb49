import { connectionOptions } from '../connection/options.ts'
import { widthOf, type Style } from '../output/style.ts'
import { fill, wrapLine } from '../output/wrap.ts'
import { groups } from '../table/index.ts'
import type { Command, CommandGroup, CommandTable, Option, Options } from './command.ts'
import { UsageError } from './errors.ts'
import { kebab, metavar } from './names.ts'
import { nearest } from './nearest.ts'
import { commonOptions } from './parse.ts'
import { resolveCommand } from './run.ts'

/** Columns of help that is not on a terminal. Longer lines would be hard to read on any. */
const helpColumnsMax = 120

/** How help is laid out. */
interface Layout {
  readonly style: Style
  readonly columns: number
}

/** The text of `zabra help WORDS`. A shell is connected, so options to connect are left out there. */
export async function helpFor(
  table: CommandTable,
  words: readonly string[],
  style: Style,
  {
    isInShell = false,
    columns = helpColumnsMax,
  }: { readonly isInShell?: boolean; readonly columns?: number | undefined } = {},
): Promise<string> {
  const layout: Layout = { style, columns: Math.min(columns, helpColumnsMax) }
  if (words.length === 0) return overview(layout)
  const resolved = await resolveCommand(table, words)
  if (resolved === undefined) {
    const near = nearest(words[0]!, Object.keys(table))
    throw new UsageError(
      `unknown command '${words.join(' ')}'`,
      near === undefined
        ? '`zabra help` lists the commands'
        : `did you mean \`zabra help ${near}\`?`,
    )
  }
  const { name, summary, command, group } = resolved
  switch (command.kind) {
    case 'raw':
      return `zabra ${name}: ${summary}\n\n\`zabra ${name} --help\` tells more.\n`
    case 'group':
      return helpOfGroup(name, command, layout)
    case 'command': {
      const text = helpOfCommand(name, summary, command, layout, isInShell)
      return group === undefined ? text : `${text}\n${helpOfGroup(name, group, layout)}`
    }
  }
}

function helpOfGroup(name: string, { commands }: CommandGroup, { style, columns }: Layout): string {
  const lines = Object.entries(commands).map(
    ([word, entry]) => [`zabra ${name} ${word}`, entry.summary] as const,
  )
  return `${style.bold('Commands:')}\n${pairs(lines, columns)}\n\`zabra help ${name} COMMAND\` tells more.\n`
}

function overview({ style, columns }: Layout): string {
  const parts = [`${style.bold('Usage:')} zabra COMMAND [ARGUMENTS] [OPTIONS]\n`]
  for (const { title, commands } of groups) {
    const shown = Object.entries(commands).filter(([, { isHidden }]) => isHidden !== true)
    if (shown.length === 0) continue
    const lines = shown.map(([name, { summary }]) => [name, summary] as const)
    parts.push(`${style.bold(`${title}:`)}\n${pairs(lines, columns)}`)
  }
  const notes = [
    '`zabra help COMMAND` shows arguments, options and examples.',
    'Servers: --servers, --context, ZABRA_SERVERS, `zabra context use`; 127.0.0.1:2181 by default.',
    'TIME is 500ms, 10s, 5m, 2h or 3d, or a number of seconds; SIZE is 512, 64k, 20m or 1g.',
  ]
  parts.push(notes.map((note) => `${wrapLine(note, columns).join('\n')}\n`).join(''))
  return parts.join('\n')
}

function helpOfCommand(
  name: string,
  summary: string,
  command: Command,
  { style, columns }: Layout,
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
  if (explained.length > 0) parts.push(`${style.bold('Arguments:')}\n${pairs(explained, columns)}`)
  if (command.details !== undefined) parts.push(`${fill(command.details.trim(), columns)}\n`)
  parts.push(
    `${style.bold('Options:')}\n${pairs([...optionLines(own), ...optionLines(common)], columns)}`,
  )
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
    parts.push(`${style.bold('Options to connect:')}\n${pairs(optionLines(connecting), columns)}`)
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
  return Object.entries(options).map(([key, option]) => {
    const { type, short, help } = option
    const name = `${short === undefined ? '    ' : `-${short}, `}--${kebab(key)}`
    return [type === 'flag' ? name : `${name} ${valueName(option)}`, help] as const
  })
}

const valueNames = {
  flag: '',
  text: 'VALUE',
  integer: 'N',
  duration: 'TIME',
  size: 'SIZE',
} as const

function valueName({ type, value, choices }: Option): string {
  return value ?? choices?.join('|') ?? valueNames[type]
}

/** The second column is not narrower than this, even on a narrow terminal. */
const meaningColumnsMin = 24

/** Two columns; a name that is too long gets a line of its own. */
function pairs(lines: readonly (readonly [string, string])[], columns: number): string {
  const widest = Math.min(28, Math.max(...lines.map(([name]) => widthOf(name))))
  const indent = ' '.repeat(widest + 4)
  const room = Math.max(meaningColumnsMin, columns - indent.length)
  return lines
    .map(([name, text]) => {
      const meaning = wrapLine(text, room).join(`\n${indent}`)
      return widthOf(name) > widest
        ? `  ${name}\n${indent}${meaning}\n`
        : `  ${name}${' '.repeat(widest - widthOf(name))}  ${meaning}\n`
    })
    .join('')
}
