import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { askFourLetters, loopback, ManagedServer, type ServerCommand } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'

const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
maxClientCnxns=0
preAllocSize=256
reconfigEnabled=true
4lw.commands.whitelist=*
${superUserCfg}
`

const patienceMs = 30_000

/** Three members, and a fourth server that is none yet. */
export class ChangingEnsemble {
  readonly members: readonly Member[]

  static async open(commands: readonly ServerCommand[]): Promise<ChangingEnsemble> {
    const ports = await freePorts(4 * commands.length)
    return new ChangingEnsemble(commands, ports)
  }

  private constructor(commands: readonly ServerCommand[], ports: readonly number[]) {
    this.members = commands.map((command, i) => {
      return new Member(i + 1, command, ports.slice(4 * i, 4 * i + 4))
    })
    const lines = this.members.slice(0, 3).map((member) => member.line())
    for (const member of this.members) {
      // Who joins must know the others, and its own addresses.
      member.configure([...lines, ...(member.id > 3 ? [member.line()] : [])].join('\n'))
    }
  }

  member(id: number): Member {
    return this.members[id - 1]!
  }

  async start(...ids: number[]): Promise<void> {
    await Promise.all(ids.map((id) => this.member(id).server.launch()))
    await Promise.all(ids.map((id) => this.member(id).untilServing()))
  }

  async leader(): Promise<Member> {
    let found: Member | undefined
    await until('nobody leads', async () => {
      for (const member of this.members) if ((await member.mode()) === 'leader') found = member
      return found !== undefined
    })
    return found!
  }

  async dispose(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server.dispose()))
  }
}

export class Member {
  readonly id: number
  server!: ManagedServer
  /** Where its clients find it; changes move it. */
  port: number
  private readonly command: ServerCommand
  private readonly ports: readonly number[]

  constructor(id: number, command: ServerCommand, ports: readonly number[]) {
    this.id = id
    this.command = command
    this.ports = ports
    this.port = ports[2]!
  }

  configure(members: string): void {
    this.server = new ManagedServer(this.command, {
      // The client port is in the line of each server.
      cfg: `${commonCfg}${members}\nclientPort=${this.port}`,
      port: this.port,
      myid: this.id,
      keepsCfg: true,
    })
  }

  get kind(): string {
    return this.command.name
  }

  get name(): string {
    return `${this.kind} (server ${this.id})`
  }

  /** How a configuration says where it is. */
  line(role = 'participant', port = this.port): string {
    const [quorum, election] = this.ports
    return `server.${this.id}=${loopback}:${quorum}:${election}:${role};${loopback}:${port}`
  }

  /** Another port that is its own. */
  get sparePort(): number {
    return this.ports[3]!
  }

  async untilServing(): Promise<void> {
    await until(`${this.name} does not serve`, async () => (await this.mode()) !== undefined)
  }

  async untilMode(mode: string): Promise<void> {
    await until(`${this.name} is no ${mode}`, async () => (await this.mode()) === mode)
  }

  async mode(): Promise<string | undefined> {
    const answer = await askFourLetters(loopback, this.port, 'srvr')
    return /^Mode: (\w+)/m.exec(answer)?.[1]
  }

  /** The files about members, by what follows `zoo.cfg`. */
  files(): Map<string, string> {
    const { dir } = this.server
    const names = readdirSync(dir).filter((name) => name.startsWith('zoo.cfg'))
    return new Map(
      names.map((name) => [name.slice('zoo.cfg'.length), readFileSync(`${dir}/${name}`, 'utf8')]),
    )
  }
}

/** Asks again until it holds; the sentence says what is wrong when it never does. */
export async function until(
  complaint: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${complaint}, after ${patienceMs} ms`)
    await delay(20)
  }
}
