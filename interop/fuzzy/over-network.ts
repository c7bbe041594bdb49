import { setTimeout as delay } from 'node:timers/promises'
import { zabraCommand, type ServerCommand } from '../src/commands.ts'
import { blame } from '../src/blame.ts'
import { differences, type Tree } from '../exchange/tree.ts'
import { MixedEnsemble, type Member } from '../mixed/ensemble.ts'
import { say } from '../src/tools.ts'
import { Churn, prepare } from './churn.ts'

export interface OverNetwork {
  /** How often an Apache leader under load sent a zabra server a snapshot. */
  readonly joins: number
  /** How often that server stayed, and had the same tree when the load had ended. */
  readonly equal: number
  readonly problems: readonly string[]
}

const loads = 4

/** Two Apache servers, the second of which leads, and a zabra server that joins and leaves. */
export async function overNetwork(apache: ServerCommand, wanted: number): Promise<OverNetwork> {
  const ensemble = await MixedEnsemble.open([apache, apache, zabraCommand()], 2)
  const leader = ensemble.member(2)
  const learner = ensemble.member(3)
  const problems: string[] = []
  let joins = 0
  let equal = 0
  try {
    await ensemble.start([1, 2], [3])
    await prepare(leader.port)
    for (; joins < wanted; joins++) {
      await learner.server.stop('SIGKILL')
      learner.loseData()
      const since = learner.logLength
      const churns = Array.from(
        { length: loads },
        (_, i) => new Churn(leader.port, joins * 100 + i),
      )
      try {
        await learner.server.start()
        await delay(500)
      } finally {
        await Promise.all(churns.map((churn) => churn.stop()))
      }
      if (learner.countSyncs('learner', 'SNAP', since) === 0) {
        problems.push('the learner was not sent a snapshot')
      }
      await ensemble.untilLevel()
      const trees = await Promise.all([leader, learner].map((member) => treeOf(member)))
      const complaints = blame('zabra', differences(trees[0]!, trees[1]!))
      if (complaints.length === 0) equal++
      problems.push(...complaints)
    }
    problems.push(...learner.digestComplaints())
    say(`${leader.name}: ${equal} of ${joins} joins ended with equal trees`)
  } catch (error) {
    problems.push((error as Error).message)
  } finally {
    await ensemble.dispose()
  }
  return { joins, equal, problems }
}

async function treeOf(member: Member): Promise<Tree> {
  const tree = new Map(await member.tree())
  // Each server stores it by itself.
  tree.delete('/zookeeper/config')
  return tree
}
