import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AnyCommand, CommandEntry, CommandTable } from '../src/framework/command.ts'
import { helpFor } from '../src/framework/help.ts'
import { plainStyle } from '../src/output/style.ts'
import { commands, groups } from '../src/table/index.ts'

/** Every command that is shown, those of groups one by one. */
async function* every(
  table: CommandTable,
  prefix = '',
): AsyncGenerator<[string, CommandEntry, AnyCommand], void, undefined> {
  for (const [name, entry] of Object.entries(table)) {
    if (entry.isHidden === true) continue
    const { command } = await entry.load()
    if (command.kind === 'group') {
      if (command.main !== undefined) yield [prefix + name, entry, (await command.main()).command]
      yield* every(command.commands, `${prefix}${name} `)
    } else yield [prefix + name, entry, command]
  }
}

// `npx vitest run packages/cli/test/reference.test.ts -u` updates the page.
test('the reference has the help of every command', async () => {
  const parts = [
    '# Commands of `zabra`',
    'This page is generated from `zabra help COMMAND`. It leaves out the connection options, which most commands have, and the\n' +
      'options of all commands; [the command](command.md) explains both.',
  ]
  for (const { title, commands: table } of groups) {
    parts.push(`## ${title}`)
    for await (const [name, { summary }, command] of every(table)) {
      parts.push(`### zabra ${name}`)
      if (command.kind === 'raw') {
        parts.push(`${summary}. \`zabra ${name} --help\` shows its options.`)
        continue
      }
      const text = await helpFor(commands, name.split(' '), plainStyle)
      parts.push(`\`\`\`\n${withoutCommon(text)}\n\`\`\``)
    }
  }
  await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot('../../../docs/command-reference.md')
})

/** Commands that print no result of their own. */
const silent = ['context rm', 'lock', 'semaphore', 'create', 'dev', 'shell', 'server', 'completion']

test('the shape of the JSON of every command is documented', async () => {
  const rows = ['command', 'command-coordination', 'command-operations'].flatMap((page) =>
    readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `') && /`[{[]/.test(line)),
  )
  const documented = rows.flatMap((row) =>
    [...row.split(' | ')[0]!.matchAll(/`([a-z0-9 -]+?)(?: (?:\[|[A-Z]|--).*?)?`/g)].map(
      ([, name]) => name!,
    ),
  )
  for await (const [name] of every(commands))
    if (!silent.includes(name)) expect(documented).toContain(name)
})

const common = ['--json', '--quiet', '--color', '--help']

/** Options that all commands have would be most of the page. */
function withoutCommon(help: string): string {
  return help
    .split('\n\n')
    .filter((part) => !part.startsWith('Options to connect:'))
    .map((part) =>
      part
        .split('\n')
        .filter(
          (line) => !common.some((option) => new RegExp(`^  (?:-.,|   ) ${option}\\b`).test(line)),
        )
        .join('\n'),
    )
    .filter((part) => part !== 'Options:')
    .join('\n\n')
    .trimEnd()
}
