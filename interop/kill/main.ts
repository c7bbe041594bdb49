/**
 * Kills a server under load in many rounds; `npm test` runs a few of them.
 *
 *     npm run test:kill -- [--rounds 200] [--seed N] [--ending kill|stop]
 */
import { parseArgs } from 'node:util'
import { runTrial, type Round } from '../../packages/server/test/support/kill/trial.ts'
import { seedOf } from '../../packages/server/test/support/random.ts'
import { inTemporaryFolder } from '../../packages/server/test/support/server-process.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string' },
    ending: { type: 'string', default: 'kill' },
  },
})
const rounds = Number(values.rounds)
const seed = seedOf(values.seed)
const ending = values.ending === 'stop' ? 'stop' : 'kill'

console.log(`seed ${seed}: ${rounds} rounds of ${ending}`)
const done = await inTemporaryFolder((dir) => runTrial({ dir, seed, rounds, ending, onRound }))
const failed = done.filter(({ problems }) => problems.length > 0).length
const sum = (of: (round: Round) => number): number => done.reduce((all, r) => all + of(r), 0)
console.log(
  `${sum((r) => r.acknowledged)} writes acknowledged${failed === 0 ? ', and all of them there' : ''}; of ` +
    `${sum((r) => r.unanswered)} without an answer ${sum((r) => r.unansweredDone)} had happened`,
)
if (failed > 0) console.log(`again with: npm run test:kill -- --rounds ${rounds} --seed ${seed}`)
console.log(`${done.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 || done.length < rounds ? 1 : 0

function onRound({ number, acknowledged, unanswered, unansweredDone, problems }: Round): void {
  const counts = `${acknowledged} acknowledged, ${unansweredDone} of ${unanswered} others done`
  console.log(`round ${number}: ${counts}${problems.length === 0 ? '' : ' FAILED'}`)
  for (const problem of problems) console.log(`  ${problem}`)
}
