/**
 * Starts zabra on snapshots that Apache ZooKeeper took while nodes were deleted and created again,
 * and compares the tree with Apache's.
 *
 *     npm run test:fuzzy -- [--release 3.9]... [--snapshots 200] [--joins 10] [--keep]
 *
 * From disk: puts each snapshot with all logs into a new data directory, and starts zabra there.
 * Over the network: a zabra server joins an ensemble of Apache's repeatedly, and gets a snapshot
 * each time while the load continues.
 */
import { parseArgs } from 'node:util'
import { apacheReleases, findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand } from '../src/commands.ts'
import { textTable } from '../src/text-table.ts'
import { fromDisk } from './from-disk.ts'
import { overNetwork } from './over-network.ts'

const { values } = parseArgs({
  options: {
    release: { type: 'string', multiple: true, default: ['3.8', '3.9'] },
    /** The number of snapshots of each release. */
    snapshots: { type: 'string', default: '200' },
    /** How often the learner joins. */
    joins: { type: 'string', default: '10' },
    /** Keeps the directories of failed cases. */
    keep: { type: 'boolean', default: false },
  },
})
process.exitCode = await main()

async function main(): Promise<number> {
  const rows = [
    ['', 'snapshots', 'start with equal trees', 'not exact by themselves', 'joins', 'equal trees'],
  ]
  const problems: string[] = []
  for (const release of values.release) {
    const known = apacheReleases.find((one): one is ApacheRelease => one === release)
    const apache = known === undefined ? undefined : await findApache(known)
    if (apache?.ok !== true) {
      problems.push(`NOT RUN: ${apache?.reason ?? `there is no release ${release}`}`)
      continue
    }
    const command = apacheCommand(apache)
    const disk = await fromDisk(command, Number(values.snapshots), values.keep)
    const network = await overNetwork(command, Number(values.joins))
    const all = [...disk.problems, ...network.problems]
    problems.push(...all.map((problem) => `FAIL ${command.name}: ${problem}`))
    const { snapshots, equal, fuzzy } = disk
    const numbers = [snapshots, equal, fuzzy, network.joins, network.equal]
    rows.push([command.name, ...numbers.map(String)])
  }
  console.log(`\n${textTable(rows)}\n`)
  for (const problem of problems) console.log(problem)
  return problems.length > 0 ? 1 : 0
}
