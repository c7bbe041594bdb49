import { setTimeout as delay } from 'node:timers/promises'
import { differences, type Tree } from '../exchange/tree.ts'
import { digestComplaints, sayHowLearning } from '../src/digests.ts'
import type { ServerCommand } from '../src/commands.ts'
import { Ensemble, type EnsembleServer } from '../src/ensemble.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'

/** Settings as in production, with shorter ticks, so that sessions expire sooner. */
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
const levelMsMax = 30_000

/** The three servers that an application uses. */
export class AppEnsemble {
  /** The number of kills. */
  kills = 0
  private readonly ensemble: Ensemble

  static async start(command: ServerCommand): Promise<AppEnsemble> {
    const options = { cfg: commonCfg, properties }
    return new AppEnsemble(await Ensemble.start([command, command, command], options))
  }

  private constructor(ensemble: Ensemble) {
    this.ensemble = ensemble
  }

  get servers(): readonly EnsembleServer[] {
    return this.ensemble.servers
  }

  /** The connect string for clients, without a chroot. */
  get connectString(): string {
    return this.ensemble.connectString
  }

  /** The port of a server that is up, for reading the tree. */
  get anyPort(): number {
    const [server] = this.ensemble.running
    if (server === undefined) throw new Error('no server is running')
    return server.port
  }

  /** Kills (SIGKILL) the server in this mode; returns once the others have a leader. */
  async kill(mode: 'leader' | 'follower'): Promise<EnsembleServer> {
    const server = await this.ensemble.withMode(mode)
    if (server === undefined) throw new Error(`the ensemble has no ${mode}`)
    await server.stop('SIGKILL')
    this.kills++
    await this.ensemble.leader()
    return server
  }

  /** Starts the servers that are down. */
  async heal(): Promise<void> {
    const down = this.servers.filter(({ running }) => !running)
    await Promise.all(down.map((server) => server.start()))
  }

  /** Waits until the three servers have equal trees; returns problems that they reported. */
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
   * Sessions still end and containers disappear during the comparison, so a difference or a failed
   * read may be gone the next time.
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
    await this.ensemble.dispose()
  }
}

async function treeOf({ port }: EnsembleServer): Promise<Tree> {
  const tree = new Map(await wholeTree(port))
  // Each server stores its configuration by itself, with its own time.
  tree.delete('/zookeeper/config')
  return tree
}
