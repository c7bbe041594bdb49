/**
 * Adds, removes and changes members in ensembles of Apache ZooKeeper, of zabra, and of both.
 *
 *     npm run test:reconfig -- [--release 3.9] [--only AZAZ]... [--verbose]
 *
 * The same story is played in each ensemble, and the results of an ensemble of Apache alone must be
 * the results of the others; `story.ts` has the steps. Server 2 leads at first, server 4 joins.
 */
import { delimiter } from 'node:path'
import { parseArgs } from 'node:util'
import { javaCommand } from '../clients/java/prepare.ts'
import { findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { foreignClients } from './clients.ts'
import { play } from './story.ts'

const { values } = parseArgs({
  options: {
    release: { type: 'string', default: '3.9' },
    only: { type: 'string', multiple: true, default: ['ZZZZ', 'ZAZA', 'AZAZ', 'ZAAZ', 'AZZA'] },
    verbose: { type: 'boolean', default: false },
  },
})

const apache = await findApache(values.release as ApacheRelease)
if (!apache.ok) {
  console.log(`!!! NOT RUN: ${apache.reason}`)
  process.exit(1)
}
const commands = { A: apacheCommand(apache), Z: zabraCommand() }
// Without jline the shell reads commands from a pipe, one per line.
const jars = apache.classPath.split(delimiter).filter((jar) => !/jline/.test(jar))
const shell = javaCommand(jars, 'org.apache.zookeeper.ZooKeeperMain')
const clients = await foreignClients()

const reference = await tell('AAAA')
if (values.verbose) console.log(reference.lines.join('\n'))
const rows = [['servers 1 to 4', 'leads at first', 'steps', 'as Apache alone']]
const reasons: string[] = reference.problem === undefined ? [] : [reference.problem]
for (const kinds of values.only) {
  const { lines, problem } = await tell(kinds)
  const differences = lines.flatMap((line, i) =>
    line === reference.lines[i] ? [] : [`${kinds}: ${line}\n  AAAA: ${reference.lines[i]}`],
  )
  if (problem !== undefined) differences.push(`${kinds}: ${problem}`)
  reasons.push(...differences)
  const verdict = differences.length === 0 ? 'yes' : `NO, ${differences.length} times`
  rows.push([kinds, kinds[1] === 'A' ? 'Apache' : 'zabra', String(lines.length), verdict])
}

console.log(`\n${textTable(rows)}\n`)
for (const reason of reasons) console.log(reason)
console.log(`${rows.length - 1} ensembles, ${reference.lines.length} steps each`)
process.exitCode = reasons.length === 0 ? 0 : 1

async function tell(kinds: string): ReturnType<typeof play> {
  const startedMs = performance.now()
  const servers = kinds.split('').map((kind) => (kind === 'A' ? commands.A : commands.Z))
  const told = await play(servers, shell, clients)
  const tookMs = Math.round(performance.now() - startedMs)
  say(
    `${kinds}: ${told.lines.length} steps${told.problem === undefined ? '' : ', FAILED'}, ${tookMs} ms`,
  )
  return told
}
