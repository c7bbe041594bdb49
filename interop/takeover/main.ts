/**
 * Carries out docs/migration.md on three working servers.
 *
 *     npm run test:takeover -- [--release 3.9]... [--keep]
 *
 * `takeover.ts` has the steps for the servers; the clients are Apache's own, in Java: `Ledger.java`
 * writes, `Watching.java` watches, and each session holds an ephemeral.
 */
import { parseArgs } from 'node:util'
import { findApache, type ApacheRelease } from '../src/apache.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { takeOver } from './takeover.ts'

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: ['3.8', '3.9'] },
    /** Keeps the directories of failed runs. */
    keep: { type: 'boolean', default: false },
  },
})

const reasons: string[] = []
const missing: string[] = []
let [passed, failed] = [0, 0]
for (const release of values.release as ApacheRelease[]) {
  const apache = await findApache(release)
  if (!apache.ok) {
    missing.push(apache.reason)
    continue
  }
  say(`Apache ${apache.version}: three servers, replaced by zabra one by one, and back`)
  const rows = [['', 'leader', 'writes', 'watches', 'sessions', 'reconnects']]
  const report = (row: readonly string[]): void => {
    say(row.join(', '))
    rows.push([...row])
  }
  const outcome = await takeOver(apache, { report, keepFailures: values.keep })
  const { problems, counts, nodesCompared } = outcome
  console.log(`\nApache ${apache.version}\n${textTable(rows)}`)
  if (problems.length === 0) passed++
  else failed++
  for (const problem of problems) reasons.push(`FAIL ${apache.version}: ${problem}`)
  if (counts !== undefined && problems.length === 0) {
    const { writes, unanswered, watches, sessions, reconnects } = counts
    console.log(
      `${writes} writes acknowledged, 0 lost (${unanswered} more had no answer, and were repeated); ` +
        `${watches} watches awaited, 0 missed; ${sessions} sessions with their ephemerals, 0 lost, ` +
        `through ${reconnects} reconnects; ${nodesCompared} nodes compared`,
    )
  }
}

console.log('')
for (const reason of reasons) console.log(reason)
for (const reason of missing) console.log(`!!! NOT RUN: ${reason}`)
console.log(`${passed} passed, ${failed} failed`)
// A run without Apache proves nothing.
process.exitCode = failed > 0 || passed === 0 || missing.length > 0 ? 1 : 0
