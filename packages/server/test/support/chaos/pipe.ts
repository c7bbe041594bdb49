import type { Socket } from 'node:net'

/** The conditions in one direction of a link; they can change at any time. */
export interface Lane {
  /** Bytes wait, as in a network that loses every packet. */
  isHeld: boolean
  delayMs: number
}

/** Carries bytes from one socket to another, in order, under the conditions of its lane. */
export class Pipe {
  private readonly source: Socket
  private readonly sink: Socket
  private readonly lane: Lane
  private readonly queue: { readonly chunk: Buffer | undefined; readonly dueMs: number }[] = []
  private timer: NodeJS.Timeout | undefined

  constructor(source: Socket, sink: Socket, lane: Lane) {
    this.source = source
    this.sink = sink
    this.lane = lane
    source.on('data', (chunk: Buffer) => this.take(chunk))
    source.on('end', () => this.take(undefined))
    source.on('close', () => clearTimeout(this.timer))
    if (lane.isHeld) source.pause()
  }

  /** Called after the lane has changed. */
  changed(): void {
    if (this.lane.isHeld) this.source.pause()
    else this.source.resume()
    this.pump()
  }

  private take(chunk: Buffer | undefined): void {
    this.queue.push({ chunk, dueMs: performance.now() + this.lane.delayMs })
    this.pump()
  }

  private pump(): void {
    clearTimeout(this.timer)
    const { queue, sink, lane } = this
    while (!lane.isHeld && queue.length > 0) {
      const { chunk, dueMs } = queue[0]!
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.pump(), Math.ceil(waitMs))
        return
      }
      queue.shift()
      if (chunk === undefined) sink.end()
      else if (!sink.destroyed) sink.write(chunk)
    }
  }
}
