import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { askFourLetters, loopback, ManagedServer, type ServerCommand } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'

export const roles = ['leader', 'follower', 'observer'] as const
export type Role = (typeof roles)[number]

const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
maxClientCnxns=0
preAllocSize=256
4lw.commands.whitelist=*
admin.serverAddress=${loopback}
admin.rateLimiterIntervalInMS=0
${superUserCfg}
`
const properties = ['zookeeper.admin.rateLimiterIntervalInMS=0', `zookeeper.${superUserCfg}`]
const voters = [1, 2, 3]
const leading = 3
const observer = 4

/** Three voters and an observer, with their admin ports. */
export class AdminEnsemble {
  readonly name: string
  private readonly members: readonly Member[]

  /** The third voter, which leads, and all others. */
  static async start(leader: ServerCommand, others = leader): Promise<AdminEnsemble> {
    const ids = [...voters, observer]
    const ports = await freePorts(4 * ids.length)
    const portsOf = (id: number): number[] => ports.slice(4 * (id - 1), 4 * id)
    const lines = ids.map((id) => {
      const [quorum, election, client] = portsOf(id)
      const role = id === observer ? 'observer' : 'participant'
      return `server.${id}=${loopback}:${quorum}:${election}:${role};${loopback}:${client}`
    })
    const members = ids.map((id) => {
      const [, , port = 0, admin = 0] = portsOf(id)
      const own = id === observer ? 'peerType=observer' : ''
      const cfg = `${commonCfg}${lines.join('\n')}\nadmin.serverPort=${admin}\n${own}`
      const server = new ManagedServer(id === leading ? leader : others, {
        cfg,
        myid: id,
        port,
        properties,
      })
      return { id, server, adminPort: admin }
    })
    const ensemble = new AdminEnsemble(leader.name, members)
    try {
      // Of two that are enough, the one with the higher number leads.
      const first = members.filter(({ id }) => id === leading || id === leading - 1)
      const later = members.filter((member) => !first.includes(member))
      for (const some of [first, later]) {
        await Promise.all(some.map(({ server }) => server.launch()))
        await Promise.all(some.map(({ server }) => server.untilServing()))
      }
    } catch (error) {
      await ensemble.dispose()
      throw error
    }
    return ensemble
  }

  private constructor(name: string, members: readonly Member[]) {
    this.name = name
    this.members = members
  }

  async memberOf(role: Role): Promise<Member> {
    for (const member of this.members) {
      const answer = await askFourLetters(loopback, member.server.port, 'srvr')
      if (answer.includes(`Mode: ${role}`)) return member
    }
    throw new Error(`${this.name} has no ${role}`)
  }

  /** What each server has below the root. */
  async names(): Promise<string[]> {
    const clients = await Promise.all(this.members.map((member) => this.connect(member)))
    const listings = await Promise.all(
      clients.map(async (client) => {
        await client.must('sync', { path: '/' })
        const { children } = await client.must('getChildren', { path: '/', watch: false })
        await client.close()
        return children.toSorted().join(' ')
      }),
    )
    return listings
  }

  async untilServing(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.untilServing()))
  }

  connect({ server }: Member): Promise<RawClient> {
    return RawClient.connect(server.port)
  }

  async dispose(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.dispose()))
  }
}

export interface Member {
  readonly id: number
  readonly server: ManagedServer
  readonly adminPort: number
}

/** An admin command's answer. */
export async function command(
  { adminPort }: Member,
  name: string,
  init: RequestInit = {},
): Promise<{ status: number; headers: Headers; body: Uint8Array }> {
  const response = await fetch(`http://${loopback}:${adminPort}/commands/${name}`, init)
  const body = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, body }
}

export function word({ server }: Member, name: string): Promise<string> {
  return askFourLetters(loopback, server.port, name)
}
