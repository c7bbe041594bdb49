import { createFlags, errorCodes } from '@zabra/protocol'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { ephemeralsAmiss, fill, type LeftSession } from '../exchange/fill.ts'
import { differences } from '../exchange/tree.ts'
import { blame } from '../src/blame.ts'
import type { ServerCommand } from '../src/commands.ts'
import { until } from '../src/until.ts'
import { MixedEnsemble, patienceMs, type Kind, type Member, type Sync } from './ensemble.ts'
import { HeldSession, within } from './held-session.ts'
import { startOrder, synchronise } from './synchronise.ts'

export type Role = 'follower' | 'leader' | 'observer'

export interface Cell {
  readonly role: Role
  readonly sync: Sync
  /** The kind of server that the client is connected to. */
  readonly clientOn: Kind
}

export interface Outcome {
  /** The problems, as sentences. */
  readonly problems: readonly string[]
  readonly nodesCompared: number
  readonly digestsCompared: number
  readonly sessionsMoved: number
}

/** Each server stores its configuration by itself, with its own time. */
const ownOfEachServer = '/zookeeper/config'

/** An ensemble in which zabra has one role, and a learner that is synchronized in one way. */
export async function runCell(
  cell: Cell,
  apache: ServerCommand,
  zabra: ServerCommand,
): Promise<Outcome> {
  const commands = cell.role === 'leader' ? [apache, zabra, apache] : [apache, apache, zabra]
  const isObserver = cell.role === 'observer'
  // Only a voter can log what is never committed; it becomes an observer later.
  const voters = isObserver && cell.sync !== 'TRUNC' ? 2 : 3
  const ensemble = await MixedEnsemble.open(commands, voters)
  const run = new Run(cell, ensemble)
  try {
    await run.play()
  } catch (error) {
    run.problems.push(error instanceof Error ? error.message : String(error))
    for (const { server } of ensemble.members) run.problems.push(server.logTail(12))
  } finally {
    await ensemble.dispose()
  }
  return run
}

class Run implements Outcome {
  readonly problems: string[] = []
  nodesCompared = 0
  digestsCompared = 0
  sessionsMoved = 0
  private readonly cell: Cell
  private readonly ensemble: MixedEnsemble
  private readonly sessions: LeftSession[] = []
  private gone: readonly string[] = []

  constructor(cell: Cell, ensemble: MixedEnsemble) {
    this.cell = cell
    this.ensemble = ensemble
  }

  async play(): Promise<void> {
    const { ensemble, cell } = this
    await ensemble.start(...startOrder[cell.sync])
    const home = ensemble.of(cell.clientOn)
    this.sessions.push(await fill(home.port, '/before', 40))
    const held = await HeldSession.open(home, '/watched')
    await held.watch()
    await this.bringUp(held)
    await this.expectRoles()
    await this.comeHome(held, home)
    await this.move(held, home)
    await this.writeAndSync(held)
    await this.expire(held, home)
    this.sessions.push(await fill(home.port, '/after', 150))
    await held.expectEphemeral()
    await this.compare()
    for (const session of this.sessions) await this.resume(session)
  }

  /** The session is on an Apache server while its own server is synchronized. */
  private async bringUp(held: HeldSession): Promise<void> {
    const { ensemble, cell } = this
    const [one, leader, learner] = ensemble.members as [Member, Member, Member]
    let [leaderSaid, learnerSaid] = [leader.logLength, learner.logLength]
    const whileAway = async (): Promise<void> => {
      await held.moveTo(one)
      this.sessionsMoved++
      await held.expectEphemeral()
      leaderSaid = leader.logLength
      learnerSaid = learner.logLength
    }
    const isObserver = cell.role === 'observer'
    const { sessions, gone, times } = await synchronise(ensemble, cell.sync, {
      isObserver,
      whileAway,
    })
    this.sessions.push(...sessions)
    this.gone = gone
    const sent = leader.countSyncs('leader', cell.sync, leaderSaid)
    const got = learner.countSyncs('learner', cell.sync, learnerSaid)
    if (sent !== times) this.blame(leader, [`${sent} times a ${cell.sync} was sent, not ${times}`])
    if (got !== times) this.blame(learner, [`${got} times a ${cell.sync} was got, not ${times}`])
  }

  private async expectRoles(): Promise<void> {
    const expected = ['follower', 'leader', this.cell.role === 'observer' ? 'observer' : 'follower']
    for (const [i, member] of this.ensemble.members.entries()) {
      const mode = await member.mode()
      if (mode !== expected[i]) this.blame(member, [`it is ${mode}, not ${expected[i]}`])
    }
  }

  /** Events that happened while the session was disconnected are delivered when it reconnects. */
  private async comeHome(held: HeldSession, home: Member): Promise<void> {
    await held.leave()
    const other = await RawClient.connect(this.elsewhere(home).port)
    await held.disturb(other)
    await other.close()
    await held.arrive(home)
    this.sessionsMoved++
    await held.expectEvents()
  }

  /** To the other kind of server and back; each time watches must fire for changes there. */
  private async move(held: HeldSession, home: Member): Promise<void> {
    const away = this.elsewhere(home)
    for (const [to, from] of [
      [away, home],
      [home, away],
    ] as const) {
      await held.moveTo(to)
      this.sessionsMoved++
      await held.expectEphemeral()
      await held.watch()
      const other = await RawClient.connect(from.port)
      await held.disturb(other)
      await other.close()
      await held.expectEvents()
    }
  }

  /** Writes through each server are visible through each other one after a sync. */
  private async writeAndSync(held: HeldSession): Promise<void> {
    const { members } = this.ensemble
    const clients = await Promise.all(members.map(({ port }) => RawClient.connect(port)))
    for (const [i, writer] of [held.client, ...clients].entries()) {
      const { path } = await writer.create(`/through-${i}`, `${i}`)
      for (const [j, reader] of [held.client, ...clients].entries()) {
        await reader.must('sync', { path })
        const { err } = await reader.call('getData', { path, watch: false })
        if (err !== 0) this.problems.push(`client ${j} does not see ${path} behind a sync`)
      }
      const refused = await writer.call('setData', { path, data: null, version: 7 })
      if (refused.err !== errorCodes.badVersion) {
        this.problems.push(`${path}: a wrong version was answered with ${refused.err}`)
      }
    }
    await Promise.all(clients.map((client) => client.close()))
  }

  /** A silent session ends by the leader's decision, and all servers learn of it. */
  private async expire(held: HeldSession, home: Member): Promise<void> {
    const brief = await RawClient.connect(home.port, { timeoutMs: 1500 })
    const { path } = await brief.create('/brief', '', createFlags.ephemeral)
    await held.client.must('sync', { path })
    await held.client.must('getData', { path, watch: true })
    await brief.abandon()
    await within(held.client.nextEvent(), 'a session did not expire')
    const { err } = await held.client.call('exists', { path, watch: false })
    if (err !== errorCodes.noNode) this.problems.push(`${path} outlived its session`)
  }

  /** All servers have equal trees, and computed equal digests on the way. */
  private async compare(): Promise<void> {
    const [one, ...others] = this.ensemble.members as [Member, ...Member[]]
    const expected = new Map(await one.tree())
    expected.delete(ownOfEachServer)
    for (const path of this.gone) {
      if (expected.has(path)) this.blame(one, [`it has ${path}, which was never acknowledged`])
    }
    await this.ensemble.untilLevel()
    const digests = await one.digests()
    for (const member of others) {
      const tree = new Map(await member.tree())
      tree.delete(ownOfEachServer)
      this.nodesCompared += tree.size
      this.blame(member, differences(expected, tree))
      let common = 0
      for (const [zxid, digest] of await member.digests()) {
        const known = digests.get(zxid)
        if (known === undefined) continue
        common++
        if (known === digest) continue
        this.blame(member, [`after ${zxid} its digest is ${digest}, elsewhere ${known}`])
      }
      if (common === 0) this.blame(member, ['it has no digest that could be compared'])
      this.digestsCompared += common
    }
    for (const member of this.ensemble.members) this.blame(member, member.digestComplaints())
  }

  /** Sessions with a cut connection continue on the other kind of server. */
  private async resume(session: LeftSession): Promise<void> {
    const at = this.elsewhere(this.ensemble.of(this.cell.clientOn))
    const client = await RawClient.connect(at.port, { timeoutMs: 120_000, session })
    this.sessionsMoved++
    this.blame(at, await ephemeralsAmiss(client, session))
    await client.close()
    await until('ephemerals outlive their session', patienceMs, async () => {
      const probe = await RawClient.connect(at.port)
      const { err } = await probe.call('exists', { path: session.ephemerals[0]!, watch: false })
      await probe.close()
      return err === errorCodes.noNode
    })
  }

  private elsewhere(home: Member): Member {
    return this.ensemble.of(home.kind === 'zabra' ? 'apache' : 'zabra')
  }

  private blame(member: Member, sentences: readonly string[]): void {
    this.problems.push(...blame(member.name, sentences))
  }
}
