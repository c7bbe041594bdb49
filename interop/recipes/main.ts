/**
 * Recipes of zabra, Curator and kazoo on the same paths of one server; see README.md.
 *
 *     npm run test:recipes -- [--server zabra|apache-3.9|apache-3.8]... [--only PART-OF-A-NAME]...
 */
import { parseArgs } from 'node:util'
import { findApache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { Stage } from './stage.ts'
import { players, prepareTroupe, type Troupe } from './troupe.ts'

/** Short ticks allow short sessions, which expire soon. */
const cfg = `
tickTime=500
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
`

type Verdict = 'ok' | 'FAIL' | 'not run'

const { values } = parseArgs({
  options: {
    server: { type: 'string', multiple: true, default: ['zabra', 'apache-3.9', 'apache-3.8'] },
    only: { type: 'string', multiple: true, default: [] },
  },
})

const chosen = scenarios.filter(
  ({ name }) => values.only.length === 0 || values.only.some((part) => name.includes(part)),
)
if (chosen.length === 0) throw new Error('no scenario has such a name')
const complaints: string[] = []
const troupe = await prepareTroupe()
for (const player of players) {
  const command = troupe[player]
  if ('missing' in command) complaints.push(`!!! NOT RUN, all with ${player}: ${command.missing}`)
}
const columns: { readonly server: string; readonly verdicts: readonly Verdict[] }[] = []
for (const server of values.server) columns.push(await against(server, troupe))
show()

async function against(server: string, contenders: Troupe) {
  const command = await serverCommand(server)
  if ('missing' in command) {
    complaints.push(`!!! NOT RUN, all against ${server}: ${command.missing}`)
    return { server, verdicts: chosen.map((): Verdict => 'not run') }
  }
  const managed = new ManagedServer(command, { cfg })
  try {
    await managed.start()
    await using stage = await Stage.open(`${managed.host}:${managed.port}`, contenders)
    const verdicts: Verdict[] = []
    for (const [index, scenario] of chosen.entries())
      verdicts.push(await judge(scenario, stage, `/scenario-${index}`, managed.name))
    return { server: managed.name, verdicts }
  } finally {
    await managed.dispose()
  }
}

async function judge(
  scenario: Scenario,
  stage: Stage,
  path: string,
  server: string,
): Promise<Verdict> {
  if (scenario.cast.some((player) => 'missing' in troupe[player])) return 'not run'
  const startedAt = Date.now()
  try {
    await scenario.play(stage, path)
    say(`${server}: ${scenario.name}, ${Date.now() - startedAt} ms`)
    return 'ok'
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    complaints.push(`FAIL ${server}: ${scenario.name}: ${why}`)
    say(complaints.at(-1)!)
    await stage.clear()
    return 'FAIL'
  }
}

function show(): void {
  const head = ['', ...columns.map(({ server }) => server)]
  const rows = chosen.map(({ name }, row) => [
    name,
    ...columns.map(({ verdicts }) => verdicts[row]!),
  ])
  console.log(`\n${textTable([head, ...rows])}\n`)
  for (const complaint of complaints) console.log(complaint)
  const all = columns.flatMap(({ verdicts }) => verdicts)
  const count = (verdict: Verdict): number => all.filter((one) => one === verdict).length
  console.log(`${count('ok')} passed, ${count('FAIL')} failed, ${count('not run')} not run`)
  // A run in which nothing was tested proves nothing.
  process.exitCode = count('FAIL') > 0 || count('ok') === 0 ? 1 : 0
}

async function serverCommand(name: string): Promise<ServerCommand | { readonly missing: string }> {
  if (name === 'zabra') return zabraCommand()
  if (name !== 'apache-3.9' && name !== 'apache-3.8') throw new Error(`no such server: ${name}`)
  const apache = await findApache(name === 'apache-3.9' ? '3.9' : '3.8')
  return apache.ok ? apacheCommand(apache) : { missing: apache.reason }
}
