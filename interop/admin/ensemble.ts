import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { ServerCommand } from '../src/commands.ts'
import { Ensemble, testCfg, type EnsembleServer } from '../src/ensemble.ts'
import { loopback } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'

export const roles = ['leader', 'follower', 'observer'] as const
export type Role = (typeof roles)[number]

const commonCfg = `
${testCfg}
maxSessionTimeout=600000
admin.serverAddress=${loopback}
admin.rateLimiterIntervalInMS=0
${superUserCfg}
`
const properties = ['zookeeper.admin.rateLimiterIntervalInMS=0', `zookeeper.${superUserCfg}`]
const observer = 4

/** Three voters and an observer, with their admin ports. */
export class AdminEnsemble {
  readonly name: string
  private readonly ensemble: Ensemble

  /** Starts the third voter, which leads, and all others. */
  static async start(leader: ServerCommand, others = leader): Promise<AdminEnsemble> {
    const ensemble = await Ensemble.open([others, others, leader, others], {
      cfg: commonCfg,
      cfgOf: ({ id, ports }) =>
        `admin.serverPort=${ports.spare}\n${id === observer ? 'peerType=observer' : ''}`,
      observers: [observer],
      namesClientPorts: true,
      properties,
    })
    try {
      // With two servers, the one with the higher number leads.
      await ensemble.start([2, 3], [1, observer])
    } catch (error) {
      await ensemble.dispose()
      throw error
    }
    return new AdminEnsemble(leader.name, ensemble)
  }

  private constructor(name: string, ensemble: Ensemble) {
    this.name = name
    this.ensemble = ensemble
  }

  async memberOf(role: Role): Promise<EnsembleServer> {
    const member = await this.ensemble.withMode(role)
    if (member === undefined) throw new Error(`${this.name} has no ${role}`)
    return member
  }

  /** The names of the nodes below the root, on each server. */
  async names(): Promise<string[]> {
    const clients = await Promise.all(this.ensemble.servers.map((member) => this.connect(member)))
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
    await this.ensemble.untilServing()
  }

  /** The session sends no pings, and must last until everything is compared. */
  connect({ port }: EnsembleServer): Promise<RawClient> {
    return RawClient.connect(port, { timeoutMs: 600_000 })
  }

  async dispose(): Promise<void> {
    await this.ensemble.dispose()
  }
}

/** The answer to an admin command. */
export async function command(
  { ports }: EnsembleServer,
  name: string,
  init: RequestInit = {},
): Promise<{ status: number; headers: Headers; body: Uint8Array }> {
  const response = await fetch(`http://${loopback}:${ports.spare}/commands/${name}`, init)
  const body = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, body }
}
