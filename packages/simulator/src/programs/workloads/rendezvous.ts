import { isRefusal, text } from '@zabra/client'
import { Rendezvous, type Held, type Meeting } from '@zabra/recipes'
import type { ProgramProcess } from '../../host/program-process.ts'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import { drawLimits, holdFor } from './holding.ts'

const folder = '/rendezvous'

/** A place to meet, and the value that was published there. */
interface Place {
  readonly path: string
  /** The transaction that created it. */
  readonly czxid: bigint
  said: string | undefined
}

/** One value is published at a place, once, and all participants get the same. */
export class RendezvousWorkload implements Workload {
  private readonly stage: Stage
  private readonly places: Place[] = []
  private readonly meetings: {
    readonly name: string
    readonly path: string
    readonly process: ProgramProcess
    readonly meeting: Meeting<string>
  }[] = []
  private words = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  async turn(actor: Actor): Promise<void> {
    const { chance } = actor
    const { places } = this
    const act =
      this.stage.isHealed || places.length === 0 ? 'open' : chance.pick(['open', 'fill', 'join'])
    if (act === 'open') await this.open(actor)
    else {
      const place = chance.pick(places.slice(-4))
      await (act === 'fill' ? this.fill(actor, place) : this.join(actor, place))
    }
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    const left = [...tree.keys()].find((node) => node.startsWith(`${folder}/`))
    if (left !== undefined) return `${left} is left`
    const late = this.meetings.find(
      ({ meeting, process }) => process.isAlive && !meeting.over.aborted,
    )
    return late && `${late.name} is not told that ${late.path} is gone`
  }

  private async open(actor: Actor): Promise<void> {
    const { stage } = this
    const { client, chance } = actor
    const lostOn = chance.pick(['suspended', 'expired'] as const)
    const held: Held = await Rendezvous.open(client, folder, {
      lostOn,
      ...drawLimits(actor, stage),
    })
    const place: Place = { path: held.path, czxid: held.token, said: undefined }
    this.places.push(place)
    stage.count('opened')
    await holdFor(actor, stage, held, lostOn, async () => {
      if (stage.isHealed || chance.chance(0.3)) await this.fill(actor, place)
      if (stage.isHealed) await this.join(actor, place)
    })
  }

  private async fill(actor: Actor, place: Place): Promise<void> {
    const { client, name } = actor
    const word = `${name} ${++this.words}`
    const limits = drawLimits(actor, this.stage)
    try {
      const isSaid = await new Rendezvous(client, place.path, { codec: text }).announce(
        word,
        limits,
      )
      this.stage.count(isSaid ? 'said' : 'said by another')
      if (isSaid) this.hear(actor, place, word)
    } catch (error) {
      this.missed(actor, place, error)
    }
  }

  private async join(actor: Actor, place: Place): Promise<void> {
    const { client, chance, name, process } = actor
    const { path } = place
    const timeoutMs = chance.between(1, 2000)
    const patience = this.stage.isHealed ? {} : { timeoutMs, ...drawLimits(actor, this.stage) }
    try {
      const meeting = await new Rendezvous(client, path, { codec: text }).join(patience)
      this.meetings.push({ name, path, process, meeting })
      this.stage.count('met')
      this.hear(actor, place, meeting.value)
    } catch (error) {
      this.missed(actor, place, error)
    }
  }

  private hear({ name }: Actor, place: Place, word: string): void {
    const { path, said } = place
    if (said !== undefined && said !== word)
      this.stage.violate(`${name} hears ${word} at ${path}, others heard ${said}`)
    place.said = word
  }

  /** If a client reports that the place is gone, it must be gone. */
  private missed({ client, name }: Actor, { path, czxid }: Place, error: unknown): void {
    if (!isRefusal(error, 'noNode')) throw error
    this.stage.count('gone')
    if (this.stage.isThere(path, czxid, client.lastZxid) === true)
      this.stage.violate(`${name} is told that ${path} is gone`)
  }
}
