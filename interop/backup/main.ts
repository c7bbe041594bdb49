/**
 * Backups under load, while servers and backups are killed, compared with a ledger of the true
 * state; backups of Apache ZooKeeper's files; and the cost of a backup for other clients.
 *
 *     npm run test:backup -- [--seconds 40] [--points 200] [--flips 60] [--seed N] [--release 3.9]
 *                            [--only trial|apache|cost]
 */
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { runBackupTrial } from '../../packages/cli/test/support/backup/trial.ts'
import { seedOf } from '../../packages/server/test/support/random.ts'
import { inTemporaryFolder } from '../../packages/server/test/support/server-process.ts'
import type { ApacheRelease } from '../src/apache.ts'
import { backUpApache } from './apache.ts'
import { measureCost } from './cost.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    points: { type: 'string', default: '200' },
    flips: { type: 'string', default: '60' },
    seed: { type: 'string' },
    release: { type: 'string', multiple: true, default: ['3.9'] },
    only: { type: 'string' },
  },
})
const seed = seedOf(values.seed)
const wants = (part: string): boolean => values.only === undefined || values.only === part
const problems: string[] = []
console.log(`seed ${seed}`)
if (wants('trial')) {
  const { problems: found, ...counts } = await inTemporaryFolder((dir) =>
    runBackupTrial({
      dir,
      seed,
      ms: Number(values.seconds) * 1000,
      points: Number(values.points),
      flips: Number(values.flips),
      program: [process.execPath, fileURLToPath(new URL('../../bin/zabra', import.meta.url))],
      say: (text) => console.log(`  ${text}`),
    }),
  )
  console.log(
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  )
  problems.push(...found)
}
if (wants('apache')) {
  for (const release of values.release) {
    const found = await inTemporaryFolder((dir) =>
      backUpApache(dir, release as ApacheRelease, seed, (text) => console.log(`  ${text}`)),
    )
    problems.push(...found.map((problem) => `Apache ${release}: ${problem}`))
  }
}
if (wants('cost')) await inTemporaryFolder((dir) => measureCost(dir))

for (const problem of problems) console.log(`FAILED ${problem}`)
if (problems.length > 0) console.log(`again with: npm run test:backup -- --seed ${seed}`)
console.log(`${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
