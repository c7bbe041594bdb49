import { Worker } from 'node:worker_threads'
import type { Overrides } from '@zabra/server'
import type { FromServer, SessionEnd, Status, ToServer } from './messages.ts'
import { threadScript } from './thread-script.ts'

const linesMax = 2000

export interface ServerEvents {
  /** The status has changed, or the server has started or ended. */
  changed(): void
}

/** One life of a server, in its thread. */
export class ServerProcess {
  readonly clientPort: number
  readonly adminAddress: string | undefined
  /** Undefined while it is paused or gone, because the status is unknown then. */
  status: Status | undefined
  isPaused = false
  isGone = false
  /** Why it ended by itself. */
  failure: Error | undefined
  private readonly worker: Worker
  private readonly events: ServerEvents
  private readonly ended: Promise<void>
  private readonly calls = new Map<number, (outcome: SessionEnd) => void>()
  private callCount = 0
  private onPaused: (() => void) | undefined
  private cell: Int32Array | undefined

  /** Resolves once clients can connect; the output of the server goes into the log. */
  static async start(
    config: Overrides,
    log: string[],
    events: ServerEvents,
  ): Promise<ServerProcess> {
    const worker = new Worker(await threadScript(), { workerData: config })
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const started = await new Promise<FromServer & { type: 'started' }>((resolve, reject) => {
      const fail = (error: Error): void => {
        void worker.terminate()
        reject(error)
      }
      worker.on('error', fail)
      worker.on('message', (message: FromServer) => {
        if (message.type === 'said') keep(log, message.line)
        if (message.type === 'started') resolve(message)
        if (message.type === 'failed') fail(message.error)
      })
    })
    return new ServerProcess(worker, ended, started, events)
  }

  private constructor(
    worker: Worker,
    ended: Promise<void>,
    started: FromServer & { type: 'started' },
    events: ServerEvents,
  ) {
    this.worker = worker
    this.ended = ended
    this.events = events
    this.clientPort = started.clientPort
    this.adminAddress = started.adminAddress
    worker.on('message', (message: FromServer) => this.hear(message))
    worker.on('error', (error) => this.failed(error as Error))
    worker.once('exit', () => this.gone())
  }

  /** Stops cleanly: everything is on disk, and every connection is closed. */
  async stop(): Promise<void> {
    await this.resume()
    if (this.isGone) return
    this.tell({ type: 'stop' })
    await this.ended
  }

  /** Ends at once, whatever it does; its files keep what it has written, as after `kill -9`. */
  async kill(): Promise<void> {
    await this.worker.terminate()
    await this.ended
  }

  /** Pauses it; its connections stay open. Resolves once it is paused. */
  async pause(): Promise<void> {
    if (this.isPaused || this.isGone) return
    this.isPaused = true
    this.status = undefined
    this.events.changed()
    const cell = new Int32Array(new SharedArrayBuffer(4))
    this.cell = cell
    const paused = new Promise<void>((resolve) => (this.onPaused = resolve))
    this.tell({ type: 'pause', cell })
    await Promise.race([paused, this.ended])
  }

  /** Continues as if no time had passed. */
  async resume(): Promise<void> {
    const { cell } = this
    if (cell === undefined) return
    this.cell = undefined
    Atomics.store(cell, 0, 1)
    Atomics.notify(cell, 0)
    this.isPaused = false
    this.events.changed()
  }

  endSession(id: bigint): Promise<SessionEnd> {
    if (this.isGone || this.isPaused) return Promise.resolve('again')
    const call = this.callCount++
    return new Promise((resolve) => {
      this.calls.set(call, resolve)
      this.tell({ type: 'endSession', id, call })
    })
  }

  private tell(message: ToServer): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
    this.worker.postMessage(message)
  }

  private hear(message: FromServer): void {
    switch (message.type) {
      case 'status':
        if (this.isPaused) return
        this.status = message.status
        this.events.changed()
        return
      case 'paused':
        this.onPaused?.()
        return
      case 'stopped':
        void this.worker.terminate()
        return
      case 'failed':
        this.failed(message.error)
        return
      case 'endedSession':
        this.calls.get(message.call)?.(message.outcome)
        this.calls.delete(message.call)
    }
  }

  private failed(error: Error): void {
    this.failure ??= error
    void this.worker.terminate()
  }

  private gone(): void {
    this.isGone = true
    this.isPaused = false
    this.status = undefined
    for (const answer of this.calls.values()) answer('again')
    this.calls.clear()
    this.events.changed()
  }
}

function keep(log: string[], line: string): void {
  log.push(line)
  if (log.length > linesMax) log.splice(0, log.length - linesMax)
}
