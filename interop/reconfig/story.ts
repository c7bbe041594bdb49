import { spawn } from 'node:child_process'
import { errorName } from '@zabra/protocol'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { ServerCommand } from '../src/commands.ts'
import { loopback } from '../src/servers.ts'
import { connectAsSuper, password } from '../src/super-user.ts'
import type { ForeignClient } from './clients.ts'
import { until } from '../src/until.ts'
import { ChangingEnsemble, patienceMs, type Member } from './ensemble.ts'

interface Change {
  readonly joining?: string
  readonly leaving?: string
  readonly members?: string
  readonly from?: bigint
}

/** The events, in words that are equal for equal results. */
export interface Told {
  readonly lines: readonly string[]
  readonly problem: string | undefined
}

/**
 * Members are added, removed and changed; server 2 leads at first. `shell` is Apache's command
 * line.
 */
export async function play(
  commands: readonly ServerCommand[],
  shell: readonly string[],
  clients: readonly ForeignClient[],
): Promise<Told> {
  const ensemble = await ChangingEnsemble.open(commands)
  const story = new Story(ensemble, shell, clients)
  try {
    await story.play()
    return { lines: story.lines, problem: undefined }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const tails = ensemble.members.map(({ server }) => server.logTail(15))
    return { lines: story.lines, problem: [reason, ...tails].join('\n') }
  } finally {
    await ensemble.dispose()
  }
}

class Story {
  readonly lines: string[] = []
  private readonly ensemble: ChangingEnsemble
  /** Versions in order of appearance. */
  private readonly versions: string[] = []
  private writes = 0
  private readonly shell: readonly string[]
  private readonly clients: readonly ForeignClient[]

  constructor(
    ensemble: ChangingEnsemble,
    shell: readonly string[],
    clients: readonly ForeignClient[],
  ) {
    this.ensemble = ensemble
    this.shell = shell
    this.clients = clients
  }

  async play(): Promise<void> {
    const { ensemble } = this
    await ensemble.start(1, 2)
    await ensemble.start(3)
    this.tell(`server ${(await ensemble.leader()).id} leads`)
    await this.expectEverywhere('at first', [1, 2, 3])
    await this.refusals()
    await ensemble.start(4)
    this.tell(`server 4 is ${await ensemble.member(4).mode()} before it is a member`)
    await this.join()
    await this.changeRoles()
    await this.removeLeader()
    await this.moveClientPort()
    await this.useShell()
    for (const client of this.clients) await this.use(client)
    for (let i = 0; i < 3; i++) await this.killLeaderAmid()
    await this.restartAll()
    this.tellFiles()
  }

  private async refusals(): Promise<void> {
    const [one, two, three] = this.ensemble.members as [Member, Member, Member]
    const nowhere = (id: number): string =>
      `server.${id}=${loopback}:1${id}:2${id}:participant;${loopback}:3${id}`
    const changes: [string, Change][] = [
      ['of another version', { leaving: '3', from: 77n }],
      ['of another version that cannot be read', { leaving: 'x', from: 77n }],
      ['without an election port', { joining: `server.4=${loopback}:1;2` }],
      ['without a client port', { joining: `server.4=${loopback}:1:2` }],
      ['without ports', { joining: 'server.4' }],
      ['of no number that joins', { joining: `server.x=${loopback}:1:2;3` }],
      ['of no number that leaves', { leaving: 'x' }],
      ['of nobody', { leaving: '1,2,3' }],
      ['of one voter', { leaving: '1,2' }],
      ['of one voter and observers', { joining: one.line('observer'), leaving: '2' }],
      ['of strangers', { joining: [nowhere(7), nowhere(8), nowhere(9)].join(',') }],
      ['of members that make no sense', { members: 'server.1=what' }],
      ['of a foreign key', { members: `tickTime=5,${one.line()},${two.line()}` }],
      ['of no members', { members: '' }],
      ['of observers alone', { members: `${one.line('observer')},${two.line('observer')}` }],
      ['of one member', { members: one.line() }],
      ['of one voter and an observer anew', { members: `${one.line()},${two.line('observer')}` }],
      ['of strangers anew', { members: [nowhere(7), nowhere(8), three.line()].join('\n') }],
    ]
    for (const member of this.ensemble.members.slice(0, 3)) {
      const anybody = await RawClient.connect(member.port)
      const client = await connectAsSuper(member.port)
      for (const [what, change] of changes) {
        this.tell(`server ${member.id}: ${what}: ${await this.err(client, change)}`)
      }
      this.tell(`without permission: ${await this.err(anybody, { leaving: '3' })}`)
      this.tell(`without permission, for nobody: ${await this.err(anybody, { leaving: '2,3' })}`)
      const read = await anybody.call('getData', { path: '/zookeeper/config', watch: false })
      this.tell(`anybody reads it: ${read.err}, version ${read.response?.stat.version}`)
      await anybody.close()
      await client.close()
    }
  }

  private async err(client: RawClient, change: Change): Promise<string> {
    const { err } = await reconfig(client, change)
    return err === 0 ? 'done' : (errorName(err) ?? String(err))
  }

  private async join(): Promise<void> {
    const { ensemble } = this
    const watching = await RawClient.connect(ensemble.member(3).port)
    await watching.must('getData', { path: '/zookeeper/config', watch: true })
    await this.change('server 4 joins', 1, { joining: ensemble.member(4).line() }, [1, 2, 3, 4])
    const { type, path } = await watching.nextEvent()
    this.tell(`who watches hears of it: ${type} ${path}`)
    await watching.close()
    const text = await configOf(ensemble.member(1))
    const version = BigInt(`0x${/version=(.*)/.exec(text)![1]!}`)
    await this.change('with the version', 2, { leaving: '4', from: version }, [1, 2, 3])
    await this.change('and all anew', 3, { members: this.all([1, 2, 3, 4]) }, [1, 2, 3, 4])
  }

  private all(ids: readonly number[]): string {
    return ids.map((id) => this.ensemble.member(id).line()).join('\n')
  }

  private async changeRoles(): Promise<void> {
    const third = this.ensemble.member(3)
    await this.change('server 3 observes', 1, { joining: third.line('observer') }, [1, 2, 3, 4])
    await third.untilMode('observer')
    await this.write(3)
    await this.change('server 3 votes', 4, { joining: third.line() }, [1, 2, 3, 4])
    await third.untilMode('follower')
    await this.write(3)
  }

  private async removeLeader(): Promise<void> {
    const { ensemble } = this
    const { id } = await ensemble.leader()
    const others = [1, 2, 3, 4].filter((one) => one !== id)
    await this.changeUnheard(id, { leaving: String(id) })
    await this.expectEverywhere(`server ${id} leaves, which leads`, others)
    await until('nobody else leads', patienceMs, async () => {
      const modes = await Promise.all(others.map((one) => ensemble.member(one).mode()))
      return modes.includes('leader')
    })
    await ensemble.member(id).untilMode('follower')
    await this.write(others[0]!)
    await this.write(id)
    const back = { joining: ensemble.member(id).line() }
    await this.change(`server ${id} comes back`, others[1]!, back, [1, 2, 3, 4])
  }

  private async moveClientPort(): Promise<void> {
    const { ensemble } = this
    const { id } = await ensemble.leader()
    const moved = ensemble.members.find((member) => member.id !== id)!
    await this.changeUnheard(id, { joining: moved.line('participant', moved.sparePort) })
    moved.port = moved.sparePort
    await moved.untilServing()
    await this.expectEverywhere('a client port moves', [1, 2, 3, 4])
    await this.write(moved.id)
  }

  /** As an operator does it. */
  private async useShell(): Promise<void> {
    const [home, other] = await this.followers()
    const said = await this.inShell(home, [
      `addauth digest ${password}`,
      'config',
      `reconfig -remove ${other.id}`,
      `reconfig -add ${other.line()}`,
      'quit',
    ])
    // The current leader, and therefore the affected server, differs between ensembles.
    const lines = said.split('\n').filter((line) => /^(Committed|server\.|version=)/.test(line))
    for (const line of lines) this.tell(this.named(line.replace(/^server\..*/, 'a server')))
    await this.expectEverywhere('after the shell', [1, 2, 3, 4])
  }

  private inShell(member: Member, script: readonly string[]): Promise<string> {
    const command = [...this.shell, '-server', `${loopback}:${member.port}`]
    return ask(command, `${script.join('\n')}\n`)
  }

  /** As a program in another language does it. */
  private async use({ name, command }: ForeignClient): Promise<void> {
    const [home, other] = await this.followers()
    const args = [`${loopback}:${home.port}`, password, String(other.id), other.line()]
    const said = await ask([...command, ...args])
    const lines = said.split('\n').filter((line) => /^(removed|added|refused): /.test(line))
    this.tell(`${name} said: ${lines.join('; ')}`)
    await this.expectEverywhere(`after ${name}`, [1, 2, 3, 4])
  }

  private async followers(): Promise<[Member, Member]> {
    const { id } = await this.ensemble.leader()
    return this.ensemble.members.filter((member) => member.id !== id) as [Member, Member]
  }

  /**
   * The change may or may not have happened, but equally on all servers, and the next one succeeds.
   */
  private async killLeaderAmid(): Promise<void> {
    const { ensemble } = this
    const leader = await ensemble.leader()
    const [home, other] = await this.followers()
    const client = await connectAsSuper(home.port)
    const change = reconfig(client, { leaving: String(other.id) }).catch(() => undefined)
    await leader.server.stop('SIGKILL')
    client.socket.destroy()
    await change
    await leader.server.launch()
    await Promise.all(ensemble.members.map((member) => member.untilServing()))
    await this.expectOneConfig()
    await until('no further change succeeds', patienceMs, async () => {
      const again = await connectAsSuper(home.port)
      const reply = await reconfig(again, { members: this.all([1, 2, 3, 4]) }).catch(
        () => undefined,
      )
      again.socket.destroy()
      return reply?.err === 0
    })
    this.versions.length = 0
    await this.expectEverywhere('after a leader was killed amid a change', [1, 2, 3, 4])
    for (const { id } of ensemble.members) await this.write(id)
  }

  private async expectOneConfig(): Promise<void> {
    await until('not all have the same members', patienceMs, async () => {
      const { members } = this.ensemble
      const texts = await Promise.all(members.map((one) => configOf(one).catch(() => one.name)))
      return new Set(texts).size === 1
    })
  }

  /** With the files that they have written. */
  private async restartAll(): Promise<void> {
    for (const member of this.ensemble.members) {
      await member.server.stop()
      await member.server.launch()
      await member.untilServing()
    }
    await this.expectEverywhere('after all were started again', [1, 2, 3, 4])
    await this.write(4)
  }

  private tellFiles(): void {
    for (const member of this.ensemble.members) {
      const files = member.files()
      const current = files.get('') ?? ''
      const [, dynamic = 'none'] = /dynamicConfigFile=.*zoo\.cfg(.*)/.exec(current) ?? []
      const lines = (files.get(dynamic) ?? 'none').split('\n')
      const keys = lines.map((line) => line.replace(/=.*/, ''))
      const hasPort = /^clientPort=/m.test(current)
      const hasMembers = /^server/m.test(current)
      this.tell(
        `server ${member.id}: ${this.named(dynamic)} has ${keys.join()}; next ${files.has('.dynamic.next')}; ` +
          `backup ${files.has('.bak')}; client port ${hasPort}; members ${hasMembers}`,
      )
    }
  }

  private async change(
    what: string,
    through: number,
    change: Change,
    expected: readonly number[],
  ): Promise<void> {
    const client = await connectAsSuper(this.ensemble.member(through).port)
    const { err, response, zxid } = await reconfig(client, change)
    const text = Buffer.from(response?.data ?? []).toString()
    const stat = response?.stat
    const version = /version=(\w+)$/.exec(text)?.[1]
    const isOwnZxid = stat?.mzxid === zxid && version === zxid.toString(16)
    this.tell(`${what}: ${err}, ${this.named(text)}, of its zxid ${isOwnZxid}, ${stat?.version}`)
    client.socket.destroy()
    await this.expectEverywhere(what, expected)
  }

  /** The server may disconnect before it answers; Apache usually does. */
  private async changeUnheard(through: number, change: Change): Promise<void> {
    const client = await connectAsSuper(this.ensemble.member(through).port)
    const err = await reconfig(client, change).then(
      (reply) => reply.err,
      () => 0,
    )
    this.tell(`changed: ${err}`)
    client.socket.destroy()
  }

  /** Every server shows its clients the same members. */
  private async expectEverywhere(when: string, ids: readonly number[]): Promise<void> {
    const { members } = this.ensemble
    const running = members.filter(({ server }) => server.running)
    let texts: string[] = []
    await until(`not all know who the members are ${when}`, patienceMs, async () => {
      texts = await Promise.all(running.map((member) => configOf(member).catch(() => '')))
      const found = [...texts[0]!.matchAll(/^server\.(\d+)/gm)].map(([, id]) => Number(id))
      const isExpected = found.length === ids.length && ids.every((id) => found.includes(id))
      return new Set(texts).size === 1 && isExpected
    })
    this.tell(`${when}, everywhere: ${this.named(texts[0]!)}`)
  }

  private async write(on: number): Promise<void> {
    const client = await RawClient.connect(this.ensemble.member(on).port)
    await client.create(`/w${this.writes++}`)
    await client.close()
  }

  /** Replaces ports and versions, which differ from run to run. */
  private named(text: string): string {
    let named = text
    for (const member of this.ensemble.members) {
      for (const port of [member.port, member.sparePort]) {
        named = named.replaceAll(`:${port}`, ':client')
      }
    }
    named = named.replaceAll(/:\d+:\d+:/g, ':quorum:election:')
    const [, version] = /(?:version=|\.dynamic\.)(\w+)$/.exec(named) ?? []
    if (version === undefined) return named.replaceAll('\n', ' ')
    if (!this.versions.includes(version)) this.versions.push(version)
    const name = `v${this.versions.indexOf(version)}`
    return `${named.slice(0, -version.length)}${name}`.replaceAll('\n', ' ')
  }

  private tell(line: string): void {
    this.lines.push(line)
  }
}

function ask([program, ...args]: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.on('error', reject)
    child.on('close', () => resolve(said))
    child.stdin.end(input)
  })
}

function reconfig(client: RawClient, { joining, leaving, members, from = -1n }: Change) {
  return client.call('reconfig', {
    joiningServers: joining ?? null,
    leavingServers: leaving ?? null,
    newMembers: members ?? null,
    curConfigId: from,
  })
}

async function configOf(member: Member): Promise<string> {
  const client = await RawClient.connect(member.port)
  try {
    const { data } = await client.must('getData', { path: '/zookeeper/config', watch: false })
    return Buffer.from(data ?? []).toString()
  } finally {
    await client.close()
  }
}
