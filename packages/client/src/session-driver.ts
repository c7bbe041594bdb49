import { decodeText, encodeText } from '@zabra/protocol'
import type { Host, ServerAddress, Stream } from './host.ts'
import type { ServerRotation } from './machine/server-rotation.ts'
import {
  SessionMachine,
  type SessionEffects,
  type SessionEvents,
  type SessionSettings,
} from './machine/session-machine.ts'
import type { SessionLink } from './session-link.ts'

const probeMsMax = 1000
const quorumWord = encodeText('isro')
const hasQuorumText = 'rw'

/** Timers drop fractions of a millisecond, and would fire too early. */
const timerSlackMs = 1

/** Gives a session machine its streams and its time. */
export class SessionDriver implements SessionEffects, SessionLink {
  private readonly machine: SessionMachine
  private readonly host: Host
  private readonly onDrained: () => void
  private stream: Stream | undefined
  private cancelTimer: (() => void) | undefined
  private readonly probes = new Set<() => void>()

  constructor(
    host: Host,
    settings: SessionSettings,
    rotation: ServerRotation,
    events: SessionEvents,
    onDrained: () => void,
  ) {
    this.host = host
    this.onDrained = onDrained
    this.machine = new SessionMachine(settings, rotation, this, events)
  }

  get lastZxid(): bigint {
    return this.machine.lastZxid
  }

  get aliveUntilMs(): number {
    return this.machine.aliveUntilMs
  }

  start(): void {
    this.machine.start(this.host.nowMs())
  }

  send(bytes: Uint8Array, frames: number): boolean {
    return this.machine.send(bytes, frames, this.host.nowMs())
  }

  get isFull(): boolean {
    return this.stream?.isFull ?? false
  }

  leave(cause: Error): void {
    this.machine.lost(this.host.nowMs(), cause)
  }

  setServers(servers: readonly ServerAddress[]): void {
    this.machine.setServers(servers, this.host.nowMs())
  }

  end(): void {
    this.machine.end()
    this.cancelTimer?.()
    for (const stop of this.probes) stop()
  }

  // --- called by the machine -------------------------------------------------------------------

  open(server: ServerAddress): void {
    const { host, machine } = this
    let stream: Stream | undefined
    const isCurrent = (): boolean => stream === undefined || stream === this.stream
    stream = host.open(server, {
      opened: () => isCurrent() && machine.opened(host.nowMs()),
      received: (bytes, length) => isCurrent() && machine.received(bytes, length, host.nowMs()),
      drained: () => isCurrent() && this.onDrained(),
      closed: (error) => isCurrent() && machine.lost(host.nowMs(), error),
    })
    this.stream = stream
  }

  write(bytes: Uint8Array): boolean {
    return this.stream?.write(bytes) ?? true
  }

  drop(): void {
    const { stream } = this
    this.stream = undefined
    stream?.close()
  }

  /**
   * On a separate connection, with a four-letter word, which servers answer before any handshake.
   */
  probe(server: ServerAddress): void {
    let text = ''
    const stream = this.host.open(server, {
      opened: () => stream.write(quorumWord),
      received: (bytes, length) => {
        text += decodeText(bytes, 0, length)
        if (!text.startsWith(hasQuorumText)) return
        stop()
        this.machine.foundQuorum(server, this.host.nowMs())
      },
      drained: () => {},
      closed: () => over(),
    })
    const over = (): void => {
      cancel()
      this.probes.delete(stop)
    }
    const stop = (): void => {
      over()
      stream.close()
    }
    const cancel = this.host.timer(probeMsMax, stop)
    this.probes.add(stop)
  }

  wakeAt(ms: number): void {
    this.cancelTimer?.()
    const delayMs = Math.max(0, Math.ceil(ms - this.host.nowMs())) + timerSlackMs
    this.cancelTimer = this.host.timer(delayMs, () => this.machine.tick(this.host.nowMs()))
  }
}
