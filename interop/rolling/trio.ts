import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { askFourLetters, loopback, ManagedServer, type ServerCommand } from '../src/servers.ts'

/** As operators have them. */
const commonCfg = `
tickTime=2000
initLimit=10
syncLimit=5
maxClientCnxns=0
4lw.commands.whitelist=*
`
const ids = [1, 2, 3]

/** Three servers of one kind. */
export class Trio {
  readonly name: string
  readonly servers: readonly ManagedServer[]

  static async start(command: ServerCommand): Promise<Trio> {
    const ports = await freePorts(2 * ids.length)
    const lines = ids.map((id) => {
      return `server.${id}=${loopback}:${ports[2 * id - 2]}:${ports[2 * id - 1]}`
    })
    const trio = new Trio(command, `${commonCfg}${lines.join('\n')}`)
    await Promise.all(trio.servers.map((server) => server.launch()))
    await Promise.all(trio.servers.map((server) => server.untilServing()))
    return trio
  }

  private constructor(command: ServerCommand, cfg: string) {
    this.name = command.name
    this.servers = ids.map((myid) => new ManagedServer(command, { cfg, myid }))
  }

  get addresses(): string {
    return this.servers.map(({ host, port }) => `${host}:${port}`).join()
  }

  async leader(): Promise<ManagedServer> {
    for (const server of this.servers) if ((await modeOf(server)) === 'leader') return server
    throw new Error(`nobody leads ${this.name}`)
  }

  /** As the manual says: whoever leads comes last. */
  async leaderLast(): Promise<ManagedServer[]> {
    const leader = await this.leader()
    return [...this.servers.filter((server) => server !== leader), leader]
  }

  numberOf(server: ManagedServer): number {
    return this.servers.indexOf(server) + 1
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()))
  }
}

export async function modeOf({ host, port }: ManagedServer): Promise<string | undefined> {
  return /^Mode: (\w+)/m.exec(await askFourLetters(host, port, 'srvr'))?.[1]
}
