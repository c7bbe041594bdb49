import type { Style } from '../output/style.ts'
import { groups } from '../table/index.ts'
import { flagMeanings } from './zk/flag-meanings.ts'
import { zkCommands } from './zk/index.ts'

/** `help` inside the shell: all commands, or one of zkCli.sh's. */
export function shellHelp(name: string, style: Style): string {
  return name === '' ? overview(style) : helpOf(name, style)
}

function overview(style: Style): string {
  const parts = [`${style.bold('Commands of zkCli.sh:')}\n`]
  for (const [name, { summary }] of Object.entries(zkCommands))
    parts.push(`  ${name.padEnd(22)}${summary}\n`)
  const inShell = groups.filter(
    ({ title }) => title !== 'Servers' && title !== 'The command itself',
  )
  for (const { title, commands } of inShell) {
    const own = Object.entries(commands).filter(
      ([name, { isHidden }]) => isHidden !== true && !Object.hasOwn(zkCommands, name),
    )
    if (own.length === 0) continue
    parts.push(`\n${style.bold(`${title}:`)}\n`)
    for (const [name, { summary }] of own) parts.push(`  ${name.padEnd(22)}${summary}\n`)
  }
  parts.push(
    '\n`help COMMAND` shows flags and examples. Tab completes commands and paths.\n' +
      'Ctrl-R searches the history. Ctrl-C stops a command, Ctrl-D or `quit` leaves.\n' +
      'Words with blanks stand between quotes.\n',
  )
  return parts.join('')
}

function helpOf(name: string, style: Style): string {
  const { usage, summary, examples } = zkCommands[name]!
  const meanings = Object.entries(flagMeanings[name] ?? {})
  const widest = Math.max(...meanings.map(([flag]) => flag.length), 0)
  const flags = meanings.map(([flag, meaning]) => `  -${flag.padEnd(widest)}  ${meaning}\n`)
  return [
    `${summary}.\n`,
    `${style.bold('Usage:')} ${name} ${usage}\n`,
    ...(flags.length === 0 ? [] : [`${style.bold('Flags:')}\n${flags.join('')}`]),
    `${style.bold('Examples:')}\n${examples.map((line) => `  ${line}\n`).join('')}`,
  ].join('\n')
}
