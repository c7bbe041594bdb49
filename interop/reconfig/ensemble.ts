import { readdirSync, readFileSync } from 'node:fs'
import type { ServerCommand } from '../src/commands.ts'
import { askFourLetters } from '../src/four-letters.ts'
import { Ensemble, testCfg, type EnsembleServer, type Role } from '../src/ensemble.ts'
import { loopback } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'
import { until } from '../src/until.ts'

const commonCfg = `
${testCfg}
reconfigEnabled=true
${superUserCfg}
`

export const patienceMs = 30_000

/** Three members, and a fourth server that is not a member yet. */
export class ChangingEnsemble {
  readonly members: readonly Member[]
  private readonly ensemble: Ensemble

  static async open(commands: readonly ServerCommand[]): Promise<ChangingEnsemble> {
    const ensemble = await Ensemble.open(commands, {
      cfg: commonCfg,
      // Apache requires it in addition to the client port in the server line.
      cfgOf: ({ ports }) => `clientPort=${ports.client}`,
      namesClientPorts: true,
      joining: [4],
      keepsCfg: true,
    })
    return new ChangingEnsemble(ensemble)
  }

  private constructor(ensemble: Ensemble) {
    this.ensemble = ensemble
    this.members = ensemble.servers.map((server) => new Member(server))
  }

  member(id: number): Member {
    return this.members[id - 1]!
  }

  async start(...ids: number[]): Promise<void> {
    await this.ensemble.start(ids)
  }

  /** Does not use the ensemble's own ports, because changes move client ports. */
  async leader(): Promise<Member> {
    let found: Member | undefined
    await until('nobody leads', patienceMs, async () => {
      for (const member of this.members) if ((await member.mode()) === 'leader') found = member
      return found !== undefined
    })
    return found!
  }

  async dispose(): Promise<void> {
    await this.ensemble.dispose()
  }
}

export class Member {
  readonly id: number
  readonly server: EnsembleServer
  /** The current client port; changes move it. */
  port: number

  constructor(server: EnsembleServer) {
    this.id = server.id
    this.server = server
    this.port = server.ports.client
  }

  get kind(): string {
    return this.server.name
  }

  get name(): string {
    return `${this.kind} (server ${this.id})`
  }

  /** The server's line in a configuration. */
  line(role: Role = 'participant', clientPort = this.port): string {
    return this.server.line({ role, clientPort })
  }

  /** Another port of this server. */
  get sparePort(): number {
    return this.server.ports.spare
  }

  async untilServing(): Promise<void> {
    await until(
      `${this.name} does not serve`,
      patienceMs,
      async () => (await this.mode()) !== undefined,
    )
  }

  async untilMode(mode: string): Promise<void> {
    await until(`${this.name} is no ${mode}`, patienceMs, async () => (await this.mode()) === mode)
  }

  async mode(): Promise<string | undefined> {
    const answer = await askFourLetters(loopback, this.port, 'srvr')
    return /^Mode: (\w+)/m.exec(answer)?.[1]
  }

  /** The files about members, by their extension after `zoo.cfg`. */
  files(): Map<string, string> {
    const { dir } = this.server
    const names = readdirSync(dir).filter((name) => name.startsWith('zoo.cfg'))
    return new Map(
      names.map((name) => [name.slice('zoo.cfg'.length), readFileSync(`${dir}/${name}`, 'utf8')]),
    )
  }
}
