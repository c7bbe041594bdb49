import type { ZabTrace } from '../options.ts'
import { LinkLostError, type PacketLink } from './packet-link.ts'

/** The connections of those who come to be brought up, for as long as somebody does that here. */
export class LearnerLinks {
  isOver = false
  private readonly links = new Set<PacketLink>()
  private readonly trace: ZabTrace

  constructor(trace: ZabTrace) {
    this.trace = trace
  }

  /** Serves one from its first packet on; what goes wrong with it ends its connection alone. */
  accept(link: PacketLink, serve: (link: PacketLink) => Promise<void>): void {
    if (this.isOver) {
      link.close()
      return
    }
    this.links.add(link)
    link.onClosed = () => this.forget(link)
    serve(link).catch((error: Error) => {
      link.close()
      const isOrdinary = error instanceof LinkLostError || this.isOver
      if (!isOrdinary) this.trace({ type: 'learnerRefused', reason: error.message })
    })
  }

  /** What was waited for, if by then the connection and our service still stand. */
  async of<T>(link: PacketLink, promise: Promise<T>): Promise<T> {
    const value = await promise
    if (this.isOver || link.isClosed)
      throw new LinkLostError('it is gone, or we serve it no longer')
    return value
  }

  forget(link: PacketLink): void {
    this.links.delete(link)
  }

  end(): void {
    this.isOver = true
    for (const link of this.links) link.close()
  }
}
