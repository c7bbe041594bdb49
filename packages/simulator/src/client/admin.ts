/**
 * The administrator who changes the members: each request uses a new connection and is sent once.
 */
import {
  ConnectRequest,
  ConnectResponse,
  errorName,
  FrameCutter,
  operations,
  Reader,
  ReconfigRequest,
  AuthPacket,
  Writer,
  xids,
} from '@zabra/protocol'
import { formatServerSpec, type Membership, type ServerId, type ServerSpec } from '@zabra/core'
import type { Cluster } from '../cluster/cluster.ts'
import { specOf } from '../cluster/shape.ts'
import { inject } from '../faults/inject.ts'
import { leaderOf } from '../faults/leader-of.ts'
import type { Fault } from '../faults/schedule.ts'
import type { Random } from '../world/random.ts'

/** One change at one moment; which servers it affects depends on the members at that time. */
export interface ChangeStep {
  readonly atMs: number
  readonly kind: 'join' | 'leave' | 'leaderLeaves' | 'role' | 'replace'
  readonly amount: number
  /** A fault during the change, and its delay after the request. */
  readonly trouble: Fault | undefined
}

export function drawChanges(random: Random, durationMs: number): ChangeStep[] {
  const troubles = random.fork('troubles')
  return Array.from({ length: random.between(2, 12) }, (): ChangeStep => {
    const kind = random.weighted({ join: 5, leave: 3, leaderLeaves: 3, role: 3, replace: 3 })
    const atMs = 300 + random.next() * durationMs
    return { atMs, kind, amount: random.next(), trouble: drawTrouble(troubles) }
  }).toSorted((a, b) => a.atMs - b.atMs)
}

function drawTrouble(random: Random): Fault | undefined {
  if (random.chance(0.7)) return undefined
  return {
    kind: random.pick(['leaderCrash', 'leaderCrash', 'blackout', 'strandedLeader', 'cutOff']),
    atMs: random.next() * random.pick([10, 60, 300]),
    forMs: random.between(10, 2000),
    client: 0,
    amount: random.next(),
  }
}

interface Wanted {
  readonly joining?: string
  readonly leaving?: string
  readonly members?: string
}

const patienceMs = 3000
const frameBytesMax = 1024 * 1024

export class Admin {
  private readonly cluster: Cluster
  private asked = 0

  constructor(cluster: Cluster) {
    this.cluster = cluster
  }

  change(step: ChangeStep): void {
    const { servers, recorder } = this.cluster
    const wanted = this.wanted(step)
    const up = servers.filter(({ isServing }) => isServing)
    const server = up[Math.floor(step.amount * 7919) % up.length]
    if (wanted === undefined || server === undefined) return
    recorder.count(`change: ${step.kind}`)
    this.ask(server.name, wanted)
    const { trouble } = step
    if (trouble !== undefined) {
      this.cluster.world.after(trouble.atMs, () => inject(this.cluster, trouble))
    }
  }

  private wanted({ kind, amount }: ChangeStep): Wanted | undefined {
    const { servers, recorder } = this.cluster
    const { config } = recorder.ensemble!
    const everybody = servers.map(({ options }) => options.ensemble!.self)
    const pick = (from: readonly ServerId[]): ServerId | undefined =>
      from[Math.floor(amount * from.length)]
    switch (kind) {
      case 'join': {
        const id = pick(everybody.filter((one) => !config.servers.has(one)))
        const role = amount > 0.8 ? 'observer' : 'participant'
        return id === undefined ? undefined : { joining: line(id, specOf(id, role)) }
      }
      case 'leave':
        return { leaving: `${pick([...config.servers.keys()])}` }
      case 'leaderLeaves': {
        const leader = leaderOf(this.cluster)
        return leader === undefined ? undefined : { leaving: `${leader.options.ensemble!.self}` }
      }
      case 'role': {
        const id = pick([...config.servers.keys()])!
        const isObserver = config.servers.get(id)!.role === 'observer'
        return { joining: line(id, specOf(id, isObserver ? 'participant' : 'observer')) }
      }
      case 'replace':
        return { members: replaced(config, everybody, amount) }
    }
  }

  /** The result is judged by what the servers do. */
  private ask(server: string, { joining, leaving, members }: Wanted): void {
    const { world, network, recorder, history } = this.cluster
    const name = `admin-${++this.asked}`
    const what = [joining && `join ${joining}`, leaving && `leave ${leaving}`, members]
    recorder.trace(`${name} asks ${server}: ${what.filter(Boolean).join(', ')}`)
    const stream = network.connect(name, server)
    const cutter = new FrameCutter(frameBytesMax)
    const leave = (): void => {
      timer.cancel()
      stream.close()
    }
    const timer = world.after(patienceMs, leave)
    let isAdmitted = false
    const send = (write: (writer: Writer) => void): void => {
      const writer = new Writer()
      writer.int(0)
      write(writer)
      writer.intAt(0, writer.position - 4)
      stream.send(new Uint8Array(writer.written()))
    }
    stream.onClosed = () => timer.cancel()
    stream.onBytes = (bytes) =>
      cutter.push(bytes, bytes.length, {
        frame: (chunk, start, end) => {
          const reader = new Reader(chunk, start, end)
          if (!isAdmitted) {
            isAdmitted = true
            history.adminSessions.add(ConnectResponse.read(reader).sessionId)
            send((writer) => {
              writer.int(xids.auth)
              writer.int(operations.auth.code)
              AuthPacket.write(writer, { type: 0, scheme: 'super', auth: new Uint8Array(0) })
            })
            send((writer) => {
              writer.int(1)
              writer.int(operations.reconfig.code)
              ReconfigRequest.write(writer, {
                joiningServers: joining ?? null,
                leavingServers: leaving ?? null,
                newMembers: members ?? null,
                curConfigId: -1n,
              })
            })
            return true
          }
          if (reader.int() !== 1) return true
          reader.long()
          const err = reader.int()
          recorder.trace(`${name} -> ${errorName(err) ?? err}`)
          recorder.count(`reconfig: ${errorName(err) ?? err}`)
          leave()
          return true
        },
      })
    send((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen: 0n,
        timeOut: patienceMs,
        sessionId: 0n,
        passwd: new Uint8Array(16),
        readOnly: false,
      }),
    )
  }
}

function line(id: ServerId, spec: ServerSpec): string {
  return `server.${id}=${formatServerSpec(spec)}`
}

/** Some of the members, with others replacing the rest. */
function replaced(config: Membership, everybody: readonly ServerId[], amount: number): string {
  const at = Math.floor(amount * everybody.length)
  const turned = [...everybody.slice(at), ...everybody.slice(0, at)]
  const count = Math.max(2, config.servers.size - (amount > 0.7 ? 1 : 0))
  const lines = turned.slice(0, count).map((id) => line(id, config.servers.get(id) ?? specOf(id)))
  return lines.join('\n')
}
