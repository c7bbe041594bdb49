/**
 * The pages of the site and their order. A new document that no section names is listed under
 * "More", so it cannot be forgotten.
 */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Section {
  readonly title: string
  /** The link at the top of each page that leads here, if any. */
  readonly top?: string
  readonly pages: readonly (readonly [file: string, title?: string])[]
}

/** Files are paths in the repository. The default title of a page is its first heading. */
const named: readonly Section[] = [
  {
    title: 'Learn',
    top: 'Learn',
    pages: [
      ['docs/tutorial.md'],
      ['docs/concepts.md'],
      ['docs/when-to-use.md', 'When to use it, and when not'],
      ['examples/README.md', 'Examples'],
      ['examples/master-worker/README.md', 'Example: master and workers'],
      ['docs/glossary.md'],
    ],
  },
  {
    title: 'Write programs',
    top: 'How-to',
    pages: [
      ['docs/choosing-a-recipe.md'],
      ['docs/one-client.md'],
      ['docs/session-timeout.md'],
      ['docs/shutting-down.md'],
      ['docs/logging-and-tracing.md'],
      ['docs/testing.md'],
      ['docs/finding-a-race.md'],
      ['docs/embedding.md', 'A server inside your program'],
      ['docs/coming-from-node-zookeeper-client.md'],
      ['docs/coming-from-redlock.md'],
      ['docs/coming-from-etcd3.md'],
      ['docs/coming-from-curator.md'],
      ['docs/coming-from-kazoo.md'],
    ],
  },
  {
    title: 'Run servers',
    pages: [
      ['docs/install.md'],
      ['docs/kubernetes.md'],
      ['docs/operating.md'],
      ['docs/backup.md'],
      ['docs/monitoring.md'],
      ['docs/log-messages.md'],
      ['docs/security.md'],
      ['docs/threat-model.md'],
      ['docs/troubleshooting.md'],
      ['docs/migration.md', 'Migrating from Apache'],
      ['docs/history.md'],
      ['docs/console.md'],
    ],
  },
  {
    title: 'Recipes',
    top: 'Recipes',
    pages: [
      ['docs/recipes/README.md', 'All recipes'],
      ['docs/recipes/held.md'],
      ['docs/recipes/lock.md'],
      ['docs/recipes/read-write-lock.md'],
      ['docs/recipes/semaphore.md'],
      ['docs/recipes/lease.md'],
      ['docs/recipes/multi-lock.md'],
      ['docs/recipes/revocable-lock.md'],
      ['docs/recipes/simple-lock.md'],
      ['docs/recipes/leader-election.md'],
      ['docs/recipes/leader-only.md'],
      ['docs/recipes/schedulers.md'],
      ['docs/recipes/barrier.md'],
      ['docs/recipes/double-barrier.md'],
      ['docs/recipes/rendezvous.md'],
      ['docs/recipes/queue.md'],
      ['docs/recipes/priority-queue.md'],
      ['docs/recipes/delay-queue.md'],
      ['docs/recipes/counter.md'],
      ['docs/recipes/shared-count.md'],
      ['docs/recipes/atomic-value.md'],
      ['docs/recipes/configuration.md'],
      ['docs/recipes/live.md'],
      ['docs/recipes/tree-cache.md'],
      ['docs/recipes/group-membership.md'],
      ['docs/recipes/party.md'],
      ['docs/recipes/set-partitioner.md'],
      ['docs/recipes/service-discovery.md'],
      ['docs/recipes/name-service.md'],
      ['docs/recipes/persistent-node.md'],
      ['docs/recipes/two-phase-commit.md'],
      ['docs/recipes/session-hand-over.md'],
    ],
  },
  {
    title: 'Reference',
    top: 'Reference',
    pages: [
      ['docs/README.md', 'All documents'],
      ['docs/client.md'],
      ['docs/command.md'],
      ['docs/command-coordination.md'],
      ['docs/command-operations.md'],
      ['docs/command-reference.md', 'All commands'],
      ['docs/configuration.md', 'Configuration'],
      ['docs/metrics.md'],
      ['docs/limits.md'],
      ['docs/api.md', 'HTTP API'],
      ['docs/compatibility.md'],
      ['docs/applications.md'],
      ['BENCHMARKS.md', 'Benchmarks'],
      ['CHANGELOG.md', 'Changelog'],
    ],
  },
  {
    title: 'Internals',
    top: 'Internals',
    pages: [
      ['ARCHITECTURE.md', 'Architecture'],
      ['CONTRIBUTING.md', 'Contributing'],
      ['docs/simulation.md'],
      ['docs/found-bugs.md'],
      ['docs/sweeps.md'],
      ['interop/oracle/README.md', 'The differential oracle'],
      ['interop/clients/README.md', 'Tests with other clients'],
      ['interop/recipes/README.md', 'Tests with other recipes'],
      ['bench/README.md', 'The bench'],
      ['SECURITY.md', 'Reporting a vulnerability'],
    ],
  },
]

const home = 'site/index.md'

/** Folders without documents of this project. */
const elsewhere = /^(?:\..*|node_modules|dist|data|work)$/

/** All documents of the repository, as paths relative to its root. */
function documents(folder = ''): string[] {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return elsewhere.test(entry.name) ? [] : documents(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** The README of the repository and those of packages are for GitHub and npm. */
const isPage = (file: string): boolean => file !== 'README.md' && !file.startsWith('packages/')

/** The pages of the sections, in their order. */
export const namedFiles: readonly string[] = named.flatMap(({ pages }) =>
  pages.map(([file]) => file),
)
const listed = new Set([home, ...namedFiles])
const unlisted = documents().filter((file) => isPage(file) && !listed.has(file))

export const sections: readonly Section[] = [
  ...named,
  ...(unlisted.length > 0
    ? [{ title: 'More', pages: unlisted.map((file) => [file] as const) }]
    : []),
]

/** Every file that becomes a page. */
export const pageFiles: ReadonlySet<string> = new Set([...listed, ...unlisted])

/** Documents of the repository that are not pages of the site. */
export const otherFiles: readonly string[] = documents().filter((file) => !isPage(file))

/**
 * The location of a file on the site, as a path that ends in `.md`: `docs/recipes/README.md`
 * becomes `recipes/index.md`.
 */
export function routeOf(file: string): string {
  if (file === home) return 'index.md'
  if (file === 'docs/README.md') return 'documentation.md'
  if (file === 'SECURITY.md') return 'vulnerabilities.md'
  if (file.startsWith('docs/')) return file.slice('docs/'.length).replace(/README\.md$/, 'index.md')
  if (!file.includes('/')) return file.toLowerCase()
  return `${file.replace(/\/README\.md$/, '').replaceAll('/', '-')}.md`
}
