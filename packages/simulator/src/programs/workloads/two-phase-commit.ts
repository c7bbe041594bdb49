import { isRefusal, text, type Client } from '@zabra/client'
import { TwoPhaseCommit, type Decision } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

const folder = '/transactions'
const transactionsMax = 6

interface Attempt {
  readonly path: string
  readonly sites: readonly string[]
  readonly votes: Map<string, Decision>
  readonly decisions: Map<string, Decision>
  isThere: boolean
}

/** Sites agree on each transaction despite failures, and in the end each knows the outcome. */
export class TwoPhaseCommitWorkload implements Workload {
  readonly needsAll = true
  private readonly stage: Stage
  private readonly attempts: Attempt[] = []

  constructor(stage: Stage) {
    this.stage = stage
  }

  async setUp(client: Client): Promise<void> {
    await client.create(folder)
  }

  async turn(actor: Actor): Promise<void> {
    const { chance, name } = actor
    const open = this.attempts.filter((attempt) => this.concerns(attempt, name))
    const mayPropose = !this.stage.isHealed && this.attempts.length < transactionsMax
    if (mayPropose && (open.length === 0 || chance.chance(0.2))) await this.propose(actor)
    else if (this.stage.isHealed)
      await Promise.all(open.map((attempt) => this.takePart(actor, attempt)))
    else if (open.length > 0) await this.takePart(actor, chance.pick(open))
  }

  unrest(): string | undefined {
    for (const attempt of this.attempts) {
      const missing = attempt.sites.find((site) => this.concerns(attempt, site))
      if (missing !== undefined) return `${missing} has no decision about ${attempt.path}`
    }
    return undefined
  }

  check(): void {
    for (const { path, votes, decisions } of this.attempts) {
      const outcomes = new Set(decisions.values())
      if (outcomes.size > 1)
        this.stage.violate(`${path}: ${[...decisions].map((pair) => pair.join()).join(' ')}`)
      if (outcomes.has('commit') && [...votes.values()].includes('abort'))
        this.stage.violate(`${path} is committed, though somebody voted against it`)
      for (const outcome of outcomes) this.stage.count(`decided: ${outcome}`)
    }
  }

  mayStay(node: string): boolean {
    return node === folder || node.startsWith(`${folder}/`)
  }

  private concerns({ isThere, sites, decisions }: Attempt, name: string): boolean {
    return isThere && sites.includes(name) && !decisions.has(name)
  }

  private async propose(actor: Actor): Promise<void> {
    const { client, chance } = actor
    const all = Array.from({ length: this.stage.programs }, (_, i) => `program-${i + 1}`)
    const sites = all.filter(() => chance.chance(0.7))
    if (sites.length === 0) sites.push(all[0]!)
    const form = chance.pick(['everyone', 'coordinator'] as const)
    const path = `${folder}/${this.attempts.length}`
    const attempt: Attempt = { path, sites, votes: new Map(), decisions: new Map(), isThere: false }
    this.attempts.push(attempt)
    const limits = drawLimits(actor, this.stage)
    const commit = await new TwoPhaseCommit(client, path, { codec: text }).propose('x', {
      sites,
      form,
      ...limits,
    })
    attempt.isThere = true
    this.stage.count(`proposed: ${form}`)
    const options = chance.chance(0.3) ? { abortAfterMs: chance.between(1, 3000) } : {}
    const isTidy = chance.chance(0.5)
    // The proposer coordinates as long as it lives.
    const coordinate = async (): Promise<void> => {
      attempt.decisions.set('proposer', await commit.decision(options))
      if (!isTidy) return
      await commit.forget()
      this.stage.count('forgotten')
    }
    coordinate().catch(() => {})
  }

  private async takePart(actor: Actor, attempt: Attempt): Promise<void> {
    const { client, chance, name, process } = actor
    // Two sites that wait for each other in different transactions must give up eventually.
    const patience = this.stage.isHealed ? {} : { timeoutMs: chance.between(100, 3000) }
    const limits = { ...patience, ...drawLimits(actor, this.stage) }
    const { path } = attempt
    const joined = await new TwoPhaseCommit(client, path, { codec: text })
      .join(name, limits)
      .catch(gone)
    if (joined === undefined) {
      // After a commit the outcome is kept until every site has acknowledged it.
      attempt.decisions.set(name, 'abort')
      return
    }
    await using site = joined
    await process.sleep(chance.next() * chance.pick([5, 100, this.stage.isHealed ? 5 : 2000]))
    const vote = await site.vote(chance.chance(0.9) ? 'commit' : 'abort', limits)
    // In the opposite case it may have been forgotten, which means abort.
    if (vote === 'commit' && attempt.votes.get(name) === 'abort')
      this.stage.violate(`${name} voted against ${path}, and now it is for it`)
    attempt.votes.set(name, vote)
    const decision = await site.decision(limits)
    attempt.decisions.set(name, decision)
    await site.acknowledge(decision, limits)
  }
}

function gone(error: unknown): undefined {
  if (!isRefusal(error, 'noNode')) throw error
}
