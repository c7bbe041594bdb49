import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { fill } from '../exchange/fill.ts'
import { differences } from '../exchange/tree.ts'
import type { ServerCommand } from '../src/commands.ts'
import { Ensemble, testCfg } from '../src/ensemble.ts'
import { loopback } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'
import { until } from '../src/until.ts'
import { membersOf, patienceMs, properties, type Member } from './ensemble.ts'
import { HeldSession } from './held-session.ts'

/** All followers accept observers on the same port, so each needs its own address. */
const hosts = [loopback, '127.0.0.2', '127.0.0.3', '127.0.0.4']
const observerId = 4

const commonCfg = `
${testCfg}
minSessionTimeout=500
maxSessionTimeout=600000
extendedTypesEnabled=true
${superUserCfg}
`

/** Each server stores its configuration by itself, with its own time. */
const ownOfEachServer = '/zookeeper/config'

/** Three voters of one kind, and an observer of the other that connects to followers. */
export async function observeFollowers(
  voters: ServerCommand,
  observer: ServerCommand,
): Promise<readonly string[]> {
  const [port] = await freePorts(1)
  const commands = hosts.map((_, i) => (i + 1 === observerId ? observer : voters))
  const ensemble = await Ensemble.open(commands, {
    cfg: `${commonCfg}observerMasterPort=${port}`,
    properties,
    observers: [observerId],
    peerHosts: hosts,
  })
  const scene = new Scene(ensemble)
  try {
    await scene.play()
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error), ...ensemble.logTails(12)]
  } finally {
    await ensemble.dispose()
  }
}

class Scene {
  private readonly ensemble: Ensemble
  private readonly members: readonly Member[]
  private readonly observer: Member

  constructor(ensemble: Ensemble) {
    this.ensemble = ensemble
    this.members = membersOf(ensemble)
    this.observer = this.members[observerId - 1]!
  }

  async play(): Promise<void> {
    const { observer } = this
    await this.ensemble.start([1, 2, 3], [observerId])
    await this.expectFollowersMaster()
    const held = await HeldSession.open(observer, '/watched')
    await held.watch()
    await this.disturb(held)
    await fill(observer.port, '/before', 60)
    await this.compare()
    await this.expire()
    for (const follower of await this.followers()) {
      await follower.server.restart(false)
      await held.moveTo(observer)
      await held.expectEphemeral()
    }
    await this.away(() => {})
    await this.away(() => observer.loseData())
    await this.expectFollowersMaster()
    await held.moveTo(observer)
    await held.expectEphemeral()
    await this.disturb(held)
    await this.compare()
  }

  private async leader(): Promise<Member> {
    for (const member of this.members) if ((await member.mode()) === 'leader') return member
    throw new Error('nobody leads')
  }

  private async followers(): Promise<Member[]> {
    const leader = await this.leader()
    return this.members.filter((member) => member !== leader && member !== this.observer)
  }

  /** The leader has the two other voters as learners, and no others. */
  private async expectFollowersMaster(): Promise<void> {
    const leader = await this.leader()
    await until('the observer is with the leader', patienceMs, async () => {
      if ((await this.observer.mode()) !== 'observer') return false
      if (this.observer.kind === 'zabra') {
        const last = [...this.observer.server.log.matchAll(/zab: following leader=(\d)/g)].at(
          -1,
        )?.[1]
        return last !== undefined && Number(last) !== leader.id
      }
      const brought = /synchronizing learner server=4/
      const followers = await this.followers()
      return (
        !brought.test(leader.server.log) && followers.some(({ server }) => brought.test(server.log))
      )
    })
  }

  /** Changes made elsewhere fire watches on the observer. */
  private async disturb(held: HeldSession): Promise<void> {
    const other = await RawClient.connect((await this.leader()).port)
    await held.client.must('sync', { path: '/watched' })
    await held.disturb(other)
    await held.expectEvents()
    await held.watch()
    await other.close()
  }

  /** The leader expires a client that is not heard of, and keeps one that is. */
  private async expire(): Promise<void> {
    const { observer } = this
    const options = { timeoutMs: 2000 }
    const [silent, alive] = [
      await RawClient.connect(observer.port, options),
      await RawClient.connect(observer.port, options),
    ]
    await silent.create('/silent', '', 1)
    await alive.create('/alive', '', 1)
    await silent.abandon()
    const watcher = await RawClient.connect((await this.leader()).port)
    const isThere = async (path: string): Promise<boolean> =>
      (await watcher.call('exists', { path, watch: false })).err === 0
    await until('a silent session does not expire', patienceMs, async () => {
      await alive.call('exists', { path: '/alive', watch: false })
      return !(await isThere('/silent'))
    })
    await delay(1000)
    await alive.call('exists', { path: '/alive', watch: false })
    if (!(await isThere('/alive'))) throw new Error('a session that was heard of expired')
    await alive.close()
    await watcher.close()
  }

  /** The observer misses transactions, and gets them when it returns. */
  private async away(meanwhile: () => void): Promise<void> {
    const { observer } = this
    await observer.server.stop()
    meanwhile()
    const client = await RawClient.connect((await this.leader()).port)
    for (let i = 0; i < 30; i++) await client.create('/missed-', 'x', 2)
    await client.close()
    await observer.server.start()
    await this.compare()
  }

  private async compare(): Promise<void> {
    await this.ensemble.untilLevel()
    const trees = await Promise.all(
      this.members.map(async (member) => new Map(await member.tree())),
    )
    for (const tree of trees) tree.delete(ownOfEachServer)
    const [expected, ...others] = trees
    for (const [i, tree] of others.entries()) {
      const [first] = differences(expected!, tree)
      if (first !== undefined) throw new Error(`server ${i + 2}: ${first}`)
    }
  }
}
