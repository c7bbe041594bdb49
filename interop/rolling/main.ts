/**
 * Measures what clients notice when the servers of an ensemble are restarted one by one.
 *
 *     npm run test:rolling -- [--release 3.9]... [--rounds 2] [--znodes 1000000]
 *
 * `restarts.ts`: three servers, Apache's or zabra's, each stopped and started again while Apache's
 * Java clients hold sessions with ephemerals and write. `large.ts`: zabra with many znodes; one
 * server is restarted, then comes back without its disk, while a client of the leader measures its
 * waits. `--znodes 0` leaves that out.
 */
import { parseArgs } from 'node:util'
import { findApache, type Apache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { say } from '../src/tools.ts'
import { restartWithMany } from './large.ts'
import { restartAll, type Restart } from './restarts.ts'

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: ['3.9'] },
    rounds: { type: 'string', default: '2' },
    znodes: { type: 'string', default: '1000000' },
  },
})

const problems: string[] = []
const apaches: Apache[] = []
for (const release of values.release as ApacheRelease[]) {
  const apache = await findApache(release)
  if (apache.ok) apaches.push(apache)
  else problems.push(`NOT RUN: ${apache.reason}`)
}
const [clients] = apaches
if (clients !== undefined) {
  const restarts: Restart[] = []
  for (const command of [...apaches.map((apache) => apacheCommand(apache)), zabraCommand()]) {
    say(`three servers of ${command.name}, restarted one by one`)
    const outcome = await restartAll(command, clients, Number(values.rounds))
    restarts.push(...outcome.restarts)
    problems.push(...outcome.problems.map((problem) => `${command.name}: ${problem}`))
  }
  const head = ['', 'restarted', 'no ack, anybody', 'no ack, one client', 'no answer', 'lost']
  const rows = restarts.map(({ ensemble, step, longestMs, ownMs, unanswered, lost }) => {
    return [ensemble, step, ms(longestMs), ms(ownMs), `${unanswered}`, `${lost}`]
  })
  console.log(`\n${textTable([head, ...rows])}\n`)
  const lost = restarts.filter(({ ensemble }) => ensemble === 'zabra').some((one) => one.lost > 0)
  if (lost) problems.push('zabra lost sessions')
}

const znodes = Number(values.znodes)
if (znodes > 0) {
  say(`three servers of zabra with ${znodes} znodes`)
  const steps = await restartWithMany(znodes)
  const head = ['', 'took', 'longest wait of a write', 'of a read']
  const rows = steps.map(({ step, tookMs, writeMs, readMs }) => {
    return [step, ms(tookMs), ms(writeMs), ms(readMs)]
  })
  console.log(`\n${znodes} znodes\n${textTable([head, ...rows])}\n`)
}

for (const problem of problems) console.log(`FAIL ${problem}`)
process.exitCode = problems.length > 0 ? 1 : 0

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`
}
