import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { fill } from '../exchange/fill.ts'
import { differences } from '../exchange/tree.ts'
import { askFourLetters, loopback, type ServerCommand } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'
import { Member, until } from './ensemble.ts'
import { HeldSession } from './held-session.ts'

/** Followers all take observers on the same port, so each needs an address of its own. */
const hosts = [loopback, '127.0.0.2', '127.0.0.3', '127.0.0.4']
const observerId = 4

const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
minSessionTimeout=500
maxSessionTimeout=600000
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
${superUserCfg}
`

/** Each server is configured by itself, and shows since when. */
const ownOfEachServer = '/zookeeper/config'

/** Three voters of one kind, and an observer of the other that goes to their followers. */
export async function observeFollowers(
  voters: ServerCommand,
  observer: ServerCommand,
): Promise<readonly string[]> {
  const [port, ...ports] = await freePorts(1 + 2 * hosts.length)
  const lines = hosts.map((host, i) => {
    const role = i + 1 === observerId ? 'observer' : 'participant'
    return `server.${i + 1}=${host}:${ports[2 * i]}:${ports[2 * i + 1]}:${role}`
  })
  const cfg = `${commonCfg}observerMasterPort=${port}\n${lines.join('\n')}`
  const members = hosts.map((_, i) => {
    return new Member(i + 1, i + 1 === observerId ? observer : voters, cfg)
  })
  const scene = new Scene(members)
  try {
    await scene.play()
    return []
  } catch (error) {
    const said = members.map(({ server }) => server.logTail(12))
    return [error instanceof Error ? error.message : String(error), ...said]
  } finally {
    await Promise.all(members.map(({ server }) => server.dispose()))
  }
}

class Scene {
  private readonly members: readonly Member[]
  private readonly observer: Member

  constructor(members: readonly Member[]) {
    this.members = members
    this.observer = members[observerId - 1]!
  }

  async play(): Promise<void> {
    const { observer } = this
    const voters = this.members.filter((member) => member !== observer)
    await Promise.all(voters.map(({ server }) => server.launch()))
    await Promise.all(voters.map(({ server }) => server.untilServing()))
    await observer.server.start()
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

  /** The leader has the two other voters, and nobody else. */
  private async expectFollowersMaster(): Promise<void> {
    const leader = await this.leader()
    await until('the observer is with the leader', async () => {
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

  /** What somebody does elsewhere is told to the one who watches at the observer. */
  private async disturb(held: HeldSession): Promise<void> {
    const other = await RawClient.connect((await this.leader()).port)
    await held.client.must('sync', { path: '/watched' })
    await held.disturb(other)
    await held.expectEvents()
    await held.watch()
    await other.close()
  }

  /** A client that is not heard of is missed by the leader, one that is heard of is not. */
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
    await until('a silent session does not expire', async () => {
      await alive.call('exists', { path: '/alive', watch: false })
      return !(await isThere('/silent'))
    })
    await delay(1000)
    await alive.call('exists', { path: '/alive', watch: false })
    if (!(await isThere('/alive'))) throw new Error('a session that was heard of expired')
    await alive.close()
    await watcher.close()
  }

  /** The observer misses something, and gets it when it comes back. */
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
    await until('the servers are of different zxids', async () => {
      const answers = this.members.map(({ port }) => askFourLetters(loopback, port, 'srvr'))
      const zxids = (await Promise.all(answers)).map((text) => /^Zxid: (\w+)/m.exec(text)?.[1])
      return new Set(zxids).size === 1 && zxids[0] !== undefined
    })
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
