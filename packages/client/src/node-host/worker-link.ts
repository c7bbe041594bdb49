import { Worker } from 'node:worker_threads'
import { FrameCutter } from '@zabra/protocol'
import type { ServerAddress } from '../host.ts'
import type { SessionEvents } from '../machine/session-machine.ts'
import type { SessionLink } from '../session-link.ts'
import type { Facts, FromWorker, ToWorker, WorkerTask } from './worker-messages.ts'

const frameBytesMax = 0x7fffffff
const { timeOrigin } = performance
/** The worker's file, next to this one, compiled or not. */
const script = import.meta.url.endsWith('.ts') ? 'keep-alive-worker.ts' : 'keep-alive-worker.js'

/**
 * A session in a worker thread, so that it survives a busy main thread. Messages of the worker are
 * handled in order, whenever this thread has time for them.
 */
export class WorkerLink implements SessionLink {
  lastZxid = 0n
  aliveUntilMs = 0
  readonly isFull = false
  private readonly task: WorkerTask
  private readonly events: SessionEvents
  private readonly onFault: (error: Error) => void
  private worker: Worker | undefined
  private connections = 0
  /** There is a connection, and not one that is being closed. */
  private isListening = false
  private hasEnded = false

  constructor(task: WorkerTask, events: SessionEvents, onFault: (error: Error) => void) {
    this.task = task
    this.events = events
    this.onFault = onFault
  }

  start(): void {
    const worker = new Worker(new URL(script, import.meta.url), { workerData: this.task })
    worker.on('message', (message: FromWorker) => this.hear(message))
    worker.on('error', (error) => this.fault(error))
    worker.on('exit', () => this.fault(new Error('the worker thread of the session is gone')))
    // Listening refs the worker again.
    if (this.task.host.unref === true) worker.unref()
    this.worker = worker
  }

  send(bytes: Uint8Array, frames: number): boolean {
    if (!this.isListening) return true
    const copy = new Uint8Array(bytes)
    const { connections: connection } = this
    this.tell({ type: 'send', connection, bytes: copy, frames }, [copy.buffer])
    return true
  }

  leave(cause: Error): void {
    this.isListening = false
    this.tell({ type: 'leave', connection: this.connections, cause })
  }

  setServers(servers: readonly ServerAddress[]): void {
    this.tell({ type: 'servers', servers })
  }

  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.aliveUntilMs = 0
    this.tell({ type: 'end' })
  }

  private tell(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.worker?.postMessage(message, transfer)
  }

  private hear(message: FromWorker): void {
    if (this.hasEnded) return
    if ('facts' in message) this.note(message.facts)
    switch (message.type) {
      case 'connected':
        this.isListening = true
        this.connections++
        this.events.connected(message.connection)
        break
      case 'frames':
        if (this.isListening) this.cut(message.bytes)
        break
      case 'suspended': {
        this.isListening = false
        const { session, expiresAtMs, cause } = message
        this.events.suspended(session, expiresAtMs - timeOrigin, cause)
        break
      }
      case 'attemptFailed':
        this.events.attemptFailed(message.server, message.cause)
        break
      case 'expired':
        this.isListening = false
        this.aliveUntilMs = 0
        this.events.expired(message.session)
        break
      case 'facts':
        break
    }
  }

  /** Each message contains whole frames. */
  private cut(bytes: Uint8Array): void {
    const cutter = new FrameCutter(frameBytesMax)
    try {
      cutter.push(bytes, bytes.length, {
        frame: (chunk, start, end) => {
          this.events.frame(chunk, start, end)
          return true
        },
      })
    } catch (error) {
      this.leave(error as Error)
      return
    }
    this.events.received()
  }

  private note({ lastZxid, aliveUntilMs }: Facts): void {
    this.lastZxid = lastZxid
    this.aliveUntilMs = aliveUntilMs - timeOrigin
  }

  private fault(error: Error): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.onFault(error)
  }
}
