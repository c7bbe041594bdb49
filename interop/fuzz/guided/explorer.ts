import { createHash } from 'node:crypto'
import type { Random } from '../../../packages/server/test/support/random.ts'
import { mutate } from './mutate.ts'
import type { Target } from './target.ts'

export interface ExplorerOptions {
  readonly target: Target
  readonly random: Random
  readonly branchCounts: Uint8Array
  readonly dictionary: readonly Uint8Array[]
  /** Called before each run, so that the input is known if it hangs or ends the process. */
  readonly onRun: (input: Uint8Array) => void
  readonly onFinding: (finding: Finding) => void
}

export interface Finding {
  readonly input: Uint8Array
  readonly problem: string
}

/** An input that took a new branch, or a branch more often than any before it. */
interface Entry {
  readonly input: Uint8Array
  readonly features: readonly number[]
}

const bytesMax = 16 * 1024
/** Classes of branch counts: 1, 2, 3, 4 to 7, 8 to 15, and so on. */
const classes = Uint8Array.from({ length: 256 }, (_, count) =>
  count === 0
    ? 0
    : count < 4
      ? 1 << (count - 1)
      : 1 << Math.min(7, Math.floor(Math.log2(count)) + 1),
)

/** Mutates inputs that reached something new, and keeps those that reach more. */
export class Explorer {
  runs = 0
  private readonly options: ExplorerOptions
  private readonly seen: Uint8Array
  private readonly entries: Entry[] = []
  private readonly problems = new Set<string>()

  constructor(options: ExplorerOptions) {
    this.options = options
    this.seen = new Uint8Array(options.branchCounts.length)
  }

  /** The number of branches taken at least once. */
  get branchesTaken(): number {
    return this.seen.reduce((sum, mask) => sum + (mask === 0 ? 0 : 1), 0)
  }

  /** A small set of small inputs that covers everything reached. */
  get corpus(): Uint8Array[] {
    const missing = new Set(this.entries.flatMap(({ features }) => features))
    const bySize = [...this.entries].toSorted((a, b) => a.input.length - b.input.length)
    return bySize
      .filter(({ features }) => {
        const adds = features.some((feature) => missing.has(feature))
        for (const feature of features) missing.delete(feature)
        return adds
      })
      .map(({ input }) => input)
  }

  async explore(seeds: readonly Uint8Array[], runsMax: number, untilMs = Infinity): Promise<void> {
    for (const seed of seeds) await this.run(seed)
    if (this.entries.length === 0) this.entries.push({ input: new Uint8Array(0), features: [] })
    const { random, dictionary } = this.options
    const other = (): Uint8Array => this.pick().input
    while (this.runs < runsMax && performance.now() < untilMs) {
      await this.run(mutate(this.pick().input, { random, dictionary, other, bytesMax }))
    }
  }

  /** Prefers newer entries, which are closer to unreached code. */
  private pick(): Entry {
    const { random } = this.options
    const { entries } = this
    const recent = Math.min(entries.length, 32)
    return random.chance(0.3) ? entries.at(-1 - random.int(recent))! : random.pick(entries)
  }

  private async run(input: Uint8Array): Promise<void> {
    const { target, branchCounts, onRun, onFinding } = this.options
    this.runs++
    onRun(input)
    branchCounts.fill(0)
    try {
      // Most targets are synchronous, and a promise for each run would cost more than the run.
      const running = target.run(input)
      if (running !== undefined) await running
    } catch (error) {
      const problem = describe(error)
      const place = createHash('sha1').update(placeOf(problem)).digest('hex')
      if (!this.problems.has(place)) {
        this.problems.add(place)
        onFinding({ input, problem })
      }
      return
    }
    const features = this.newFeatures()
    if (features.length > 0) this.entries.push({ input: input.slice(), features })
  }

  private newFeatures(): number[] {
    const { branchCounts } = this.options
    const { seen } = this
    const features: number[] = []
    for (let branch = 0; branch < branchCounts.length; branch++) {
      const taken = classes[branchCounts[branch]!]! & ~seen[branch]!
      if (taken === 0) continue
      seen[branch]! |= taken
      features.push(branch * 256 + taken)
    }
    return features
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The same fault has another message for another input, but the same place. */
function placeOf(problem: string): string {
  const frames = problem.split('\n').filter((line) => /^\s+at /.test(line))
  return frames.length === 0 ? problem : frames.slice(0, 3).join('\n')
}
