/** Plays elections from a script; for the transcripts in `testdata`. */
import type { Notification, ServerState } from '@zabra/protocol'
import { parseMembership, type Membership } from '../../../src/membership/membership.ts'
import type { ServerId } from '../../../src/membership/quorum.ts'
import { Election, type ElectionTiming } from '../../../src/consensus/election/election.ts'

interface Message {
  readonly from: ServerId
  readonly to: ServerId
  readonly notification: Notification
}

type Arguments = Readonly<Record<string, string>>

const deliveriesMax = 500

/** Lines that begin with `>` are commands; what the servers do is written below each of them. */
export function play(script: string): string {
  const stage = new Stage()
  const lines: string[] = []
  for (const line of script.split('\n')) {
    if (line.startsWith('>')) lines.push(line, ...stage.command(line.slice(1).trim()))
    else if (line === '' || line.startsWith('#')) lines.push(line)
  }
  return lines.join('\n')
}

class Stage {
  private config: Membership = { version: 0n, servers: new Map(), hierarchy: undefined }
  private timing: Partial<ElectionTiming> = {}
  private readonly servers = new Map<ServerId, Election>()
  private readonly gone = new Set<ServerId>()
  private flying: Message[] = []
  private nowMs = 0
  private output: string[] = []

  command(text: string): string[] {
    const [name = '', ...words] = text.split(/\s+/)
    const named = Object.fromEntries(words.map((word) => word.split(/=(.*)/s).slice(0, 2)))
    const command = this.commands[name]
    if (command === undefined) throw new Error(`there is no command ${name}`)
    command(words, named as Arguments)
    const { output } = this
    this.output = []
    return output
  }

  private readonly commands: Readonly<
    Record<string, (words: readonly string[], named: Arguments) => void>
  > = {
    /** `servers 1 2 3:observer group.1=1:2 weight.1=3` */
    servers: (words) => {
      const lines = words.map((word) => {
        if (word.includes('=')) return word
        const [id, role = 'participant'] = word.split(':')
        return `server.${id}=host${id}:2888:3888:${role}`
      })
      const parsed = parseMembership(lines.join('\n'))
      if ('problem' in parsed) throw new Error(parsed.problem)
      this.config = parsed.value
    },
    /** `timing unanimousWaitMs=200` */
    timing: (_, named) => {
      this.timing = Object.fromEntries(Object.entries(named).map(([key, ms]) => [key, Number(ms)]))
    },
    /** A process starts: `boot 1 zxid=0 epoch=0`. */
    boot: ([id], named) => {
      const { config, timing } = this
      const self = BigInt(id!)
      this.gone.delete(self)
      const isGone = (server: ServerId): boolean => this.gone.has(server)
      const options = { self, config: { committed: config }, timing, isGone }
      this.servers.set(self, new Election(options))
      this.look(self, named)
    },
    /** A server has lost its leader: `look 1 zxid=100000001 epoch=1`. */
    look: ([id], named) => this.look(BigInt(id!), named),
    crash: ([id]) => {
      this.servers.delete(BigInt(id!))
      this.flying = this.flying.filter(({ from }) => from !== BigInt(id!))
    },
    /** The others see that the connections to a server are closed, and cannot reach it. */
    gone: ([id]) => {
      this.gone.add(BigInt(id!))
      for (const [server, election] of this.servers) {
        election.reachabilityChanged(this.nowMs)
        this.carryOut(server, election)
      }
    },
    established: (words, { epoch }) => {
      for (const id of words) {
        if (!id.includes('=')) this.servers.get(BigInt(id))!.established(number(epoch))
      }
    },
    /** Everything that is under way arrives, and what follows from it; or only `deliver 1->2`. */
    deliver: ([route]) => this.deliver(route),
    /** Messages in transit are lost: `drop 3->1`. */
    drop: ([route]) => {
      for (const message of this.flying.filter((each) => isOn(route, each))) {
        this.output.push(`${describe(message)}   (lost)`)
      }
      this.flying = this.flying.filter((each) => !isOn(route, each))
    },
    /** A message out of the past: `say 3->1 looking leader=3 zxid=0 round=1 epoch=0`. */
    say: ([route = '', state], { leader, zxid, round, epoch }) => {
      const [from, to] = route.split('->').map(BigInt)
      const notification = {
        state: state as ServerState,
        leader: BigInt(leader!),
        zxid: number(zxid),
        round: BigInt(round!),
        peerEpoch: number(epoch),
        version: 2,
        config: undefined,
      }
      this.flying.push({ from: from!, to: to!, notification })
    },
    wait: ([ms]) => {
      this.nowMs += Number(ms)
      for (const [id, election] of this.servers) {
        election.tick(this.nowMs)
        this.carryOut(id, election)
      }
    },
  }

  private look(id: ServerId, { zxid, epoch }: Arguments): void {
    const election = this.servers.get(id)!
    election.start({ zxid: number(zxid), peerEpoch: number(epoch) }, this.nowMs)
    this.carryOut(id, election)
  }

  private deliver(route: string | undefined): void {
    for (let count = 0; count < deliveriesMax; count++) {
      const at = this.flying.findIndex((message) => isOn(route, message))
      const [message] = at === -1 ? [] : this.flying.splice(at, 1)
      if (message === undefined) return
      const election = this.servers.get(message.to)
      this.output.push(describe(message) + (election === undefined ? '   (nobody there)' : ''))
      election?.receive(message.from, message.notification, this.nowMs)
      if (election !== undefined) this.carryOut(message.to, election)
    }
    throw new Error('the servers do not stop talking')
  }

  private carryOut(id: ServerId, election: Election): void {
    const { send, decision } = election.takeReady()
    for (const { to, notification } of send) this.flying.push({ from: id, to, notification })
    if (decision === undefined) return
    const { state, leader, round } = decision
    const whom = state === 'leading' ? '' : ` ${leader}`
    this.output.push(`     ${id} is ${state.toUpperCase()}${whom}, round ${round}`)
  }
}

function isOn(route: string | undefined, { from, to }: Message): boolean {
  if (route === undefined) return true
  const [source, target] = route.split('->')
  return (source === '*' || source === `${from}`) && (target === '*' || target === `${to}`)
}

function describe({ from, to, notification }: Message): string {
  const { state, leader, zxid, round, peerEpoch } = notification
  const vote = `leader ${hex(leader)} zxid ${hex(zxid)} round ${round} epoch ${hex(peerEpoch)}`
  return `${from} -> ${to}  ${state.toUpperCase()} ${vote}`
}

function number(text: string | undefined): bigint {
  return text === undefined ? 0n : text === '-1' ? -1n : BigInt(`0x${text}`)
}

function hex(value: bigint): string {
  if (value === -1n) return '-1'
  return value < 0n ? 'none' : value.toString(16)
}
