import type { AnyKey, Family } from './key.ts'
import { families, sections } from './keys.ts'

const introduction = `# Configuration

\`zabra server zoo.cfg\` reads ZooKeeper's configuration file unchanged; \`zabra server\` alone uses
defaults. This page is generated from the table of keys in \`packages/server/src/config/keys\`:
\`npx vitest run packages/server/src/config/describe.test.ts -u\` updates it.

## Where a value comes from

Each source overrides the ones above it:

1. the default;
2. system properties, given as \`-Dzookeeper.NAME=value\` in \`SERVER_JVMFLAGS\`, then in \`JVMFLAGS\`;
3. the file. It has the syntax of Java's \`.properties\`; \`NAME\` and \`zookeeper.NAME\` mean the same;
4. the environment: every key has a variable. \`autopurge.purgeInterval\` is
   \`ZABRA_AUTOPURGE_PURGE_INTERVAL\`, and the line \`server.1\` is \`ZABRA_SERVER_1\`;
5. the options of the command line, for the keys that have one.

Keys marked "bare" are system properties that ZooKeeper's file cannot set. In zabra it can, but \`-D\` wins.

The server reports all problems at once, each with its line. An error prevents the start. A malformed
system property is not an error in ZooKeeper, so zabra warns and uses the default. An unknown key also
causes a warning: like ZooKeeper, zabra keeps it as the system property \`zookeeper.NAME\`.

Keys marked "ensemble" matter only with more than one server. Keys marked "not yet" are read and
checked, but have no effect; a warning says so. [Security](security.md) explains how the keys for TLS,
SASL and the audit log work together.
`

/** The table of keys as Markdown: docs/configuration.md. */
export function describeKeys(): string {
  const chapters = sections.map(({ title, keys }) => {
    const isPlain = Object.values(keys).every(({ use }) => use === 'unused')
    const rows = Object.entries(keys).map(([name, key]) => (isPlain ? plainRow : row)(name, key))
    const members = title === 'Ensembles' ? families.map(familyRow) : []
    const head = isPlain ? table('Key', 'In ZooKeeper', 'Here') : table('Key', 'Default', 'Meaning')
    return [`## ${title}`, '', ...head, ...rows, ...members, ''].join('\n')
  })
  return [introduction, ...chapters].join('\n')
}

function table(...titles: string[]): string[] {
  return [cells(...titles), cells(...titles.map(() => '---'))]
}

function row(name: string, key: AnyKey): string {
  const fallback =
    key.defaultText ?? (key.default === undefined ? '' : key.type.format(key.default))
  const kind = key.type.label === 'text' ? '' : ` (${key.type.label})`
  const meaning = [key.docs, key.departs === undefined ? undefined : `**Differs:** ${key.departs}`]
  if (key.flag !== undefined) meaning.push(`Option \`${key.flag}\`.`)
  const mark = marks(key)
  return cells(`\`${name}\`${mark}`, `${fallback}${kind}`, meaning.filter(Boolean).join(' '))
}

function marks({ source, use, notice }: AnyKey): string {
  const words = []
  if (source === 'bare') words.push('bare')
  if (use === 'ensemble') words.push('ensemble')
  if (use === 'planned') words.push('not yet')
  if (use === 'unused') words.push(`no effect: ${notice}`)
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

function plainRow(name: string, { docs, notice }: AnyKey): string {
  return cells(`\`${name}\``, docs, `No effect: ${notice}.`)
}

function familyRow({ name, use, docs, notice }: Family): string {
  const mark = { used: '', ensemble: ' (ensemble)', planned: ' (not yet)', unused: '' }[use]
  const effect = notice === undefined ? '' : ` No effect: ${notice}.`
  return cells(`\`${name}\`${mark}`, '', `${docs}${effect}`)
}

function cells(...texts: string[]): string {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}
