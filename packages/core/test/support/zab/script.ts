/** Plays what becomes of an ensemble from a script; for the transcripts in `src/zab/testdata`. */
import { errorName } from '@zabra/protocol'
import type { EnsembleOptions } from '../../../src/peer/ensemble-parts.ts'
import { counterOf } from '../../../src/storage/zxid.ts'
import type { ZabEvent } from '../../../src/consensus/zab/options.ts'
import type { ServerId } from '../../../src/membership/quorum.ts'
import { TestClient } from '../test-client.ts'
import type { TestServer } from '../test-server.ts'
import { zxidText } from './describe.ts'
import { plant } from './plant.ts'
import { SteppedEnsemble, type Waiting } from './stepped-ensemble.ts'
import { describeChange, storedOn, type Stored } from './stored.ts'

/** The settings of every server of every script. They make time easy to follow. */
const commonOptions: Partial<EnsembleOptions> = { tickMs: 2000, initLimit: 10, syncLimit: 5 }

const deliveriesMax = 1000

type Words = readonly string[]
type Named = Readonly<Record<string, string>>

/** Lines that begin with `>` are commands; what the servers do is written below each of them. */
export async function play(script: string): Promise<string> {
  const stage = new Stage()
  const lines: string[] = []
  for (const line of script.split('\n')) {
    if (line.startsWith('>')) lines.push(line, ...(await stage.command(line.slice(1).trim())))
    else if (line === '' || line.startsWith('#')) lines.push(line)
  }
  stage.expectNoFailure()
  return lines.join('\n')
}

/** A client, and what has been told of it. */
interface Actor {
  readonly client: TestClient
  readonly asked: Map<number, string>
  isGreeted: boolean
  replies: number
  isClosed: boolean
}

class Stage {
  private ensemble = new SteppedEnsemble({}, {})
  private options: Partial<EnsembleOptions> = commonOptions
  private readonly stored = new Map<ServerId, Stored>()
  private readonly eventsTold = new Map<ServerId, number>()
  private readonly stalled = new Set<ServerId>()
  private readonly clients = new Map<string, Actor>()
  private readonly sessions = new Map<bigint, string>()
  private output: string[] = []

  async command(text: string): Promise<string[]> {
    await this.perform(text)
    this.tellWhatHappened()
    const { output } = this
    this.output = []
    return output
  }

  expectNoFailure(): void {
    for (const { failures } of this.ensemble.servers.values()) {
      if (failures[0] !== undefined) throw failures[0]
    }
  }

  private async perform(text: string): Promise<void> {
    const [name = '', ...words] = text.split(/\s+/)
    const command = this.commands[name]
    if (command === undefined) throw new Error(`there is no command ${name}`)
    const named = words.filter((word) => word.includes('=')).map((word) => word.split('='))
    await command(
      words.filter((word) => !word.includes('=')),
      Object.fromEntries(named) as Named,
    )
  }

  private readonly commands: Readonly<
    Record<string, (words: Words, named: Named) => void | Promise<void>>
  > = {
    /** How they are configured, before there are any: `options snapshotSizeFactor=-1`. */
    options: (_, named) => {
      const numbers = Object.entries(named).map(([key, value]) => [key, Number(value)])
      this.options = { ...this.options, ...Object.fromEntries(numbers) }
    },
    /** `servers 1 2 3 4:observer`; with `reconfig=on` they can be changed, by any client. */
    servers: (words, { reconfig }) => {
      if (reconfig === 'on') {
        const rules = { enforceQuota: false, reconfigEnabled: true, closeSessionPaths: true }
        this.options = { ...this.options, rules }
      }
      const members = words
        .map((word) => word.split(':'))
        .map(([id, role]) => [id, role ?? 'participant'])
      this.ensemble = new SteppedEnsemble(Object.fromEntries(members), this.options)
      this.ensemble.skipAcl = reconfig === 'on'
      this.ensemble.sessionNames = (id) => this.sessions.get(id) ?? `0x${id.toString(16)}`
    },
    /** The disk of a server at its start: `disk 3 accepted=2 current=1 1:1 1:2 snapshot 1:3`. */
    disk: async ([id, ...history], { current = '0', accepted = current }) => {
      const epochs = { accepted: BigInt(accepted), current: BigInt(current) }
      await plant(this.server(id).disk, history, epochs)
    },
    /** A server that is no member, and may become one: `stranger 4:observer`. */
    stranger: ([word]) => {
      const [id, role] = word!.split(':')
      this.ensemble.addStranger(Number(id), role === 'observer' ? role : 'participant')
    },
    start: async (ids) => {
      for (const id of ids) await this.start(BigInt(id))
    },
    /** Time passes until all who are not isolated have a leader, and are connected to it. */
    elect: async () => {
      const there = this.servers.filter(({ id, isUp }) => isUp && this.ensemble.canTalk(id, id))
      const hasLeader = ({ id, peer }: TestServer): boolean =>
        peer!.state === 'leading' || this.ensemble.networkOf(id)!.isConnected
      await this.ensemble.until('all have a leader', () => there.every(hasLeader))
    },
    /**
     * Everything that waits goes its way, and what follows from it; or only what is said, `deliver
     * 3->1`, or stored, `deliver 1`.
     */
    deliver: ([route]) => this.deliver(route),
    /** The first of that alone. */
    step: ([route]) => this.deliver(route, 1),
    /** `quietly elect`: all that comes of a command happens, and nothing of it is written down. */
    quietly: async (words, named) => {
      const rest = Object.entries(named).map(([key, value]) => `${key}=${value}`)
      await this.perform([...words, ...rest].join(' '))
      await this.deliver(undefined)
      this.tellWhatHappened()
      this.output = []
    },
    /** Time passes, and nothing that waits goes its way. */
    wait: ([ms]) => this.ensemble.pass(Number(ms)),
    /** Power fails: what was on its way from there is lost. */
    crash: ([id]) => {
      this.ensemble.crash(BigInt(id!))
      return this.ensemble.settle()
    },
    /** Messages to and from a server are lost until `heal`. */
    isolate: ([id]) => this.ensemble.isolate(this.server(id)),
    heal: () => this.ensemble.heal(),
    /** Writes to its disk complete only on request, until `unstall`. */
    stall: ([id]) => void this.stalled.add(BigInt(id!)),
    unstall: ([id]) => void this.stalled.delete(BigInt(id!)),
    /** `connect a 3`: a client begins a session. */
    connect: ([name, id]) => this.open(name!, this.server(id)),
    /** `resume a 1`: it goes on with the one it had. */
    resume: ([name, id]) => {
      const { sessionId, password } = this.clients.get(name!)!.client
      this.open(name!, this.server(id), { sessionId, password })
    },
    /** The connection ends, the session does not. */
    leave: ([name]) => this.clients.get(name!)!.client.close(),
    /** It gives a sign of life. */
    touch: ([name]) => this.clients.get(name!)!.client.ping(),
    create: ([name, path]) =>
      this.ask(name!, `create ${path}`, (client) => client.askCreate(path!)),
    /** `reconfig a join=4:observer leave=2` */
    reconfig: ([name], { join, leave }) => {
      const [id, role = 'participant'] = join?.split(':') ?? []
      const joiningServers =
        id === undefined ? null : `server.${id}=s${id}:1:2:${role};0.0.0.0:${2180 + Number(id)}`
      const change = { joiningServers, leavingServers: leave ?? null, newMembers: null }
      this.ask(name!, 'reconfig', (client) =>
        client.ask('reconfig', { ...change, curConfigId: -1n }),
      )
    },
    sync: ([name]) => this.ask(name!, 'sync', (client) => client.ask('sync', { path: '/' })),
    close: ([name]) => this.ask(name!, 'close', (client) => client.ask('closeSession', {})),
  }

  private get servers(): TestServer[] {
    return [...this.ensemble.servers.values()]
  }

  private server(id: string | undefined): TestServer {
    const server = this.ensemble.servers.get(BigInt(id!))
    if (server === undefined) throw new Error(`there is no server ${id}`)
    return server
  }

  // --- what goes its way -----------------------------------------------------------------------

  private async deliver(route: string | undefined, countMax = Infinity): Promise<void> {
    await this.ensemble.settle()
    for (let count = 0; count < countMax; count++) {
      const { waiting } = this.ensemble
      const at = waiting.findIndex((one) => isOn(route, one) && this.mayGo(one, route))
      const [next] = at === -1 ? [] : waiting.splice(at, 1)
      if (next === undefined) return
      if (count > deliveriesMax) throw new Error('the servers do not stop talking')
      await this.happen(next)
    }
  }

  /** A stalled disk completes a write when a line names it. */
  private mayGo({ from, to }: Waiting, route: string | undefined): boolean {
    if (from !== to) return this.ensemble.canTalk(from, to)
    return !this.stalled.has(from) || route === `${from}`
  }

  private async happen({ from, to, describe, isWanted, go }: Waiting): Promise<void> {
    if (!isWanted()) return
    if (describe !== undefined) this.say(`${from} -> ${to}  ${describe()}`)
    go()
    await this.ensemble.settle()
    this.tellWhatHappened()
  }

  // --- output ----------------------------------------------------------------------------

  private async start(id: ServerId): Promise<void> {
    const server = this.ensemble.servers.get(id)!
    await this.ensemble.startStepped(id, () => this.tellStored(server))
    this.stored.set(id, await storedOn(server.disk))
    const { db } = server.peer!
    const advance = db.advance.bind(db)
    db.advance = (zxid) => {
      // The start of an epoch is not a transaction.
      if (counterOf(zxid) !== 0n) this.sayOf(id, `applies ${zxidText(zxid)}`)
      advance(zxid)
    }
  }

  private async tellStored(server: TestServer): Promise<void> {
    const { id, disk } = server
    const after = await storedOn(disk)
    if (server.disk !== disk) return
    const before = this.stored.get(id)!
    this.stored.set(id, after)
    for (const line of describeChange(before, after)) this.sayOf(id, line)
  }

  private open(
    name: string,
    server: TestServer,
    session?: { readonly sessionId: bigint; readonly password: Uint8Array },
  ): void {
    const client = TestClient.open(this.ensemble, server.peer!, session && { session })
    const { sessionId } = [...server.peer!.connections].at(-1)!
    if (session === undefined) this.sessions.set(sessionId, name)
    const asked = new Map<number, string>()
    this.clients.set(name, { client, asked, isGreeted: false, replies: 0, isClosed: false })
  }

  private ask(name: string, what: string, ask: (client: TestClient) => number): void {
    const { client, asked } = this.clients.get(name)!
    asked.set(ask(client), what)
  }

  private sayOf(who: ServerId | string, line: string): void {
    this.say(`     ${who} ${line}`)
  }

  private say(line: string): void {
    this.tellWhatHappened()
    this.output.push(line)
  }

  private tellWhatHappened(): void {
    for (const server of this.servers) {
      const { id, events, isUp } = server
      // Of one that has crashed there is nothing to be seen, whatever its process still does.
      for (const event of isUp ? events.slice(this.eventsTold.get(id)) : []) {
        const text = describeEvent(event, server)
        if (text !== undefined) this.output.push(`     ${id} ${text}`)
      }
      this.eventsTold.set(id, events.length)
    }
    for (const [name, actor] of this.clients) {
      for (const text of newsOf(actor)) this.output.push(`     ${name} ${text}`)
    }
  }
}

function isOn(route: string | undefined, { from, to }: Waiting): boolean {
  if (route === undefined) return true
  const [source, target = source] = route.split('->')
  return (source === '*' || source === `${from}`) && (target === '*' || target === `${to}`)
}

/** Undefined for what the packets tell already. */
function describeEvent(event: ZabEvent, { id, config }: TestServer): string | undefined {
  switch (event.type) {
    case 'elected': {
      if (event.leader === id) return 'is LEADING'
      const isVoter = config.servers.get(id)?.role !== 'observer'
      return `is ${isVoter ? 'FOLLOWING' : 'OBSERVING'} ${event.leader}`
    }
    case 'leading':
    case 'following':
      return `serves, epoch ${event.epoch}`
    case 'synchronizing':
      return event.fromDisk ? `reads from its log what ${event.sid} lacks` : undefined
    case 'learnerDropped':
      return `drops ${event.sid}: ${event.reason}`
    case 'learnerRefused':
      return `refuses to lead: ${event.reason}`
    case 'crowded':
      return `closes a connection of its ${event.port} port`
    case 'appointed':
      return `is to have ${event.leader} for its leader`
    case 'changeProposed':
      return `knows of configuration ${event.version.toString(16)}`
    case 'reconfigured':
      return `goes by configuration ${event.version.toString(16)}`
    case 'handingOver':
      return `ends its epoch: ${event.reason}`
    case 'roleEnded':
      return `gives up: ${event.reason}`
    default:
      return undefined
  }
}

function newsOf(actor: Actor): string[] {
  const { client, asked } = actor
  const news: string[] = []
  if (!actor.isGreeted && client.timeoutMs !== undefined) {
    actor.isGreeted = true
    news.push(client.timeoutMs === 0 ? 'hears that its session is over' : 'is connected')
  }
  for (const { xid, err } of client.replies.slice(actor.replies)) {
    const what = asked.get(xid)
    if (what !== undefined) news.push(`hears: ${what} ${err === 0 ? 'is done' : errorName(err)}`)
  }
  actor.replies = client.replies.length
  if (!actor.isClosed && client.isClosed) {
    actor.isClosed = true
    news.push('has no connection any more')
  }
  return news
}
