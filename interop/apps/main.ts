/**
 * Runs programs that depend on ZooKeeper, unmodified, on three servers that are killed meanwhile.
 *
 *     npm run test:apps -- [NAME]... [--server zabra|apache-3.9|apache-3.8] [--keep]
 */
import { parseArgs } from 'node:util'
import { findApache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import type { Application, PreparedApplication } from './application.ts'
import { applications } from './catalogue.ts'
import { AppEnsemble } from './ensemble.ts'
import { Stage } from './stage.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: 'zabra' },
    /** Keeps the files of failed applications. */
    keep: { type: 'boolean', default: false },
  },
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(130))
}

type Outcome = 'ok' | 'FAIL' | 'NOT RUN'
const rows = [['application', 'version', 'what was exercised', 'result']]
const reasons: string[] = []
const counts: Record<Outcome, number> = { ok: 0, FAIL: 0, 'NOT RUN': 0 }

const chosen = choose(positionals)
const server = await serverCommand(values.server)
for (const application of chosen) await tryOut(application)

console.log(`\nover three servers of ${server.name}\n\n${textTable(rows)}\n`)
for (const reason of reasons) console.log(reason)
if (counts['NOT RUN'] > 0) {
  console.log(
    `!!! ${counts['NOT RUN']} of ${chosen.length} applications could NOT be run, see above`,
  )
}
console.log(`${counts.ok} passed, ${counts.FAIL} failed, ${counts['NOT RUN']} not run`)
process.exitCode = counts.ok === chosen.length ? 0 : 1

async function tryOut(application: Application): Promise<void> {
  const prepared = await application.prepare()
  if (!prepared.ok) {
    say(`!!! NOT RUN ${application.name}: ${prepared.reason}`)
    note(application, '-', 'NOT RUN', prepared.reason)
    return
  }
  const startedMs = performance.now()
  try {
    const seen = await play(application, prepared)
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    note(application, prepared.version, 'ok', `${seen}, ${seconds} s`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    note(application, prepared.version, 'FAIL', why)
  }
}

/** Each application gets a new ensemble, so that it finds nothing of another one. */
async function play(application: Application, prepared: PreparedApplication): Promise<string> {
  say(`${application.name} ${prepared.version}: ${application.exercise}`)
  const ensemble = await AppEnsemble.start(server)
  const stage = new Stage(application.name, ensemble)
  let hasFailed = true
  try {
    const seen = await prepared.run(stage)
    const { problems, nodes } = await ensemble.judge()
    if (problems.length > 0) throw new Error(problems.slice(0, 5).join('\n'))
    hasFailed = false
    return `${seen}; ${ensemble.kills} servers killed, ${nodes} nodes alike on all three`
  } finally {
    const keep = hasFailed && values.keep
    if (hasFailed) {
      say(stage.tails())
      for (const each of ensemble.servers) say(each.logTail(15))
    }
    await stage.dispose(keep)
    if (keep) {
      await Promise.all(ensemble.servers.map((each) => each.stop('SIGKILL')))
      say(`files are in ${[stage.dir, ...ensemble.servers.map(({ dir }) => dir)].join(' ')}`)
    } else {
      await ensemble.dispose()
    }
  }
}

function note({ name, exercise }: Application, version: string, outcome: Outcome, why: string) {
  counts[outcome]++
  rows.push([name, version, exercise, outcome])
  const mark = outcome === 'NOT RUN' ? '!!! ' : ''
  reasons.push(`${mark}${outcome} ${name}: ${why}`)
}

/** By name or prefix: `curator` selects both. */
function choose(names: readonly string[]): readonly Application[] {
  if (names.length === 0) return applications
  const found = names.flatMap((name) => {
    const close = applications.filter((application) => application.name.startsWith(name))
    if (close.length > 0) return close
    const all = applications.map((application) => application.name).join(', ')
    throw new Error(`no application ${name}; there are ${all}`)
  })
  return [...new Set(found)]
}

async function serverCommand(name: string): Promise<ServerCommand> {
  if (name === 'zabra') return zabraCommand()
  const release = name === 'apache-3.8' ? '3.8' : '3.9'
  if (name !== 'apache' && name !== `apache-${release}`) throw new Error(`no server ${name}`)
  const apache = await findApache(release)
  if (!apache.ok) throw new Error(apache.reason)
  return apacheCommand(apache)
}
