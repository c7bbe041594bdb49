import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { differences, type Tree } from '../exchange/tree.ts'
import { digestComplaints, sayHowLearning } from '../src/digests.ts'
import { askFourLetters, loopback, ManagedServer, type ServerCommand } from '../src/servers.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'
import { until } from './until.ts'

/** As operators have them, with shorter ticks: what waits for a session's end waits less. */
const commonCfg = `
tickTime=1000
initLimit=20
syncLimit=10
maxSessionTimeout=60000
maxClientCnxns=0
extendedTypesEnabled=true
4lw.commands.whitelist=*
${superUserCfg}
`
const properties = [sayHowLearning, 'znode.container.checkIntervalMs=2000']
const ids = [1, 2, 3]
const levelMsMax = 30_000

/** The three servers that an application depends on. */
export class Ensemble {
  readonly servers: readonly ManagedServer[]
  /** For clients, without a chroot. */
  readonly connectString: string
  /** How often a server was killed. */
  kills = 0

  static async start(command: ServerCommand): Promise<Ensemble> {
    const ports = await freePorts(3 * ids.length)
    const lines = ids.map((id) => {
      return `server.${id}=${loopback}:${ports[3 * id - 3]}:${ports[3 * id - 2]}`
    })
    const cfg = `${commonCfg}${lines.join('\n')}`
    const ensemble = new Ensemble(
      ids.map((id) => {
        return new ManagedServer(command, { cfg, myid: id, properties, port: ports[3 * id - 1]! })
      }),
    )
    try {
      await Promise.all(ensemble.servers.map((server) => server.launch()))
      await Promise.all(ensemble.servers.map((server) => server.untilServing()))
    } catch (error) {
      await ensemble.dispose()
      throw error
    }
    return ensemble
  }

  private constructor(servers: readonly ManagedServer[]) {
    this.servers = servers
    this.connectString = servers.map(({ host, port }) => `${host}:${port}`).join()
  }

  /** A server that is up, for whoever looks into the tree. */
  get anyPort(): number {
    const server = this.servers.find(({ running }) => running)
    if (server === undefined) throw new Error('no server is running')
    return server.port
  }

  /** SIGKILL for whoever leads; returns once the others have a leader. */
  async killLeader(): Promise<ManagedServer> {
    const modes = await Promise.all(this.servers.map(modeOf))
    const leader = this.servers[modes.indexOf('leader')]
    if (leader === undefined) throw new Error('the ensemble has no leader')
    await this.kill(leader)
    return leader
  }

  /** SIGKILL for somebody who follows. */
  async killFollower(): Promise<ManagedServer> {
    const modes = await Promise.all(this.servers.map(modeOf))
    const follower = this.servers[modes.indexOf('follower')]
    if (follower === undefined) throw new Error('the ensemble has no follower')
    await this.kill(follower)
    return follower
  }

  private async kill(server: ManagedServer): Promise<void> {
    await server.stop('SIGKILL')
    this.kills++
    await until('the other servers have no leader', 30_000, async () => {
      const modes = await Promise.all(this.servers.map(modeOf))
      return modes.includes('leader')
    })
  }

  /** Starts whoever is down. */
  async heal(): Promise<void> {
    const down = this.servers.filter(({ running }) => !running)
    await Promise.all(down.map((server) => server.start()))
  }

  /** Waits until the three have the same tree, and says what they have to complain of. */
  async judge(): Promise<{ readonly problems: string[]; readonly nodes: number }> {
    await this.heal()
    const deadline = Date.now() + levelMsMax
    for (;;) {
      const { found, nodes } = await this.compare()
      if (found.length === 0 || Date.now() > deadline) {
        const complaints = this.servers.flatMap((server) => digestComplaints(server.log))
        return { problems: [...found, ...complaints], nodes }
      }
      await delay(250)
    }
  }

  /**
   * While the trees are read sessions still end, and containers go: what differs, or cannot be read,
   * may be alike the next time.
   */
  private async compare(): Promise<{ readonly found: string[]; readonly nodes: number }> {
    try {
      const [expected, ...others] = await Promise.all(this.servers.map(treeOf))
      const found = others.flatMap((tree, i) => {
        return differences(expected!, tree).map((text) => `server ${i + 2}: ${text}`)
      })
      return { found, nodes: expected!.size }
    } catch (error) {
      return { found: [String(error)], nodes: 0 }
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()))
  }
}

async function modeOf({ host, port }: ManagedServer): Promise<string | undefined> {
  return /^Mode: (\w+)/m.exec(await askFourLetters(host, port, 'srvr'))?.[1]
}

async function treeOf({ port }: ManagedServer): Promise<Tree> {
  const tree = new Map(await wholeTree(port))
  // Each server is configured by itself, and shows since when.
  tree.delete('/zookeeper/config')
  return tree
}
