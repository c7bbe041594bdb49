import type { State } from '@zabra/client'
import type { Cluster } from '../cluster/cluster.ts'
import type { ProgramProcess } from '../host/program-process.ts'
import type { Stage } from './stage.ts'

const mayFollow: Readonly<Record<State['name'], readonly State['name'][]>> = {
  connecting: ['connected', 'closed'],
  connected: ['suspended', 'closed'],
  suspended: ['connected', 'expired', 'closed'],
  expired: ['connecting', 'closed'],
  closed: [],
}
/** Timers are a little late, by design. */
const slackMs = 3

/** Compares what a client reports about its session with the facts. */
export class StateWitness {
  private readonly name: string
  private readonly stage: Stage
  private readonly cluster: Cluster
  private readonly process: ProgramProcess
  private last: State

  constructor(name: string, stage: Stage, cluster: Cluster, process: ProgramProcess, first: State) {
    this.last = first
    this.name = name
    this.stage = stage
    this.cluster = cluster
    this.process = process
  }

  told(state: State, before: State): void {
    const { stage, name, last } = this
    stage.count(`client: ${state.name}`)
    stage.trace(`${name} is ${describe(state)}`)
    if (before !== last) stage.violate(`${name} hears of ${state.name} out of order`)
    if (!mayFollow[last.name].includes(state.name))
      stage.violate(`the client of ${name} is ${state.name} right after ${last.name}`)
    if (state.name === 'connected') this.connected(state)
    if (state.name === 'suspended') this.mustExpireBy(state.expiresAtMs)
    this.last = state
  }

  private connected(state: State & { name: 'connected' }): void {
    const { history } = this.cluster
    const { id, timeoutMs } = state.session
    const { last, name } = this
    if (state.resumed !== (last.name === 'suspended'))
      this.stage.violate(`${name} was ${last.name}, and its session counts as resumed`)
    if (last.name === 'suspended' && last.session.id !== id)
      this.stage.violate(`${name} has another session after it was suspended`)
    if (history.sessions.has(id)) return
    history.sessions.set(id, { id, client: name, timeoutMs, created: history.next() })
  }

  /** A client that is cut off must itself notice that its session has expired. */
  private mustExpireBy(expiresAtMs: number): void {
    const { process, stage } = this
    const { pauses } = process
    const waitMs = Math.max(0, expiresAtMs - process.nowMs()) + slackMs
    process.timer(waitMs, () => {
      const { last } = this
      if (process.pauses !== pauses || last.name !== 'suspended') return
      if (last.expiresAtMs === expiresAtMs)
        stage.violate(`${this.name} is still suspended at ${process.nowMs()}: ${describe(last)}`)
    })
  }
}

function describe(state: State): string {
  switch (state.name) {
    case 'connected':
      return `connected to ${state.server}, session ${hex(state.session.id)}`
    case 'suspended':
      return `suspended until ${state.expiresAtMs.toFixed(1)}`
    case 'expired':
      return `expired, session ${hex(state.session.id)}`
    default:
      return state.name
  }
}

function hex(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`
}
