import { Party, type Live, type Membership } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'
import { Opened } from './opened.ts'

const path = '/party'
const timesMax = 3

/**
 * Programs that are present several times: each sees itself as often as it has joined, and in the
 * end all programs know that nobody is left.
 */
export class PartyWorkload implements Workload {
  private readonly stage: Stage
  private readonly known: Opened<Live<readonly string[]>>

  constructor(stage: Stage) {
    this.stage = stage
    this.known = new Opened(stage, 'the party')
  }

  begin(actor: Actor): void {
    this.known.open(actor, new Party(actor.client, path).watch())
  }

  async turn(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance, process, name } = actor
    const party = new Party(client, path)
    const joined: Membership<string>[] = []
    try {
      for (let times = chance.between(1, timesMax); times > 0; times--)
        joined.push(await party.join(name, drawLimits(actor, stage)))
      stage.count('joined', joined.length)
      await process.sleep(chance.next() * chance.pick([20, 200, stage.isHealed ? 20 : 3000]))
      await this.look(actor, party, joined)
    } finally {
      await Promise.all(joined.map((membership) => membership.release()))
    }
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const there = [...tree.keys()].find((node) => node.startsWith(`${path}/`))
    if (there !== undefined) return `${there} is left`
    return this.known.unrest(({ current }, name) =>
      current.length === 0 ? undefined : `${name} takes ${current.join()} for members`,
    )
  }

  /** A reader sees nodes of one session that exist before and after its read. */
  private async look(
    { client, name }: Actor,
    party: Party,
    joined: readonly Membership<string>[],
  ): Promise<void> {
    const { stage } = this
    const areThere = (): boolean => joined.every(({ presence }) => presence.current === 'present')
    const session = client.session?.id
    const before = areThere()
    const members = await party.members(stage.isHealed ? {} : { timeoutMs: 3000 })
    if (!before || !areThere() || client.session?.id !== session) return
    const own = members.filter((id) => id === name).length
    if (own < joined.length)
      stage.violate(`${name} has joined ${joined.length} times, and is seen ${own} times`)
    stage.count('parties seen')
  }
}
