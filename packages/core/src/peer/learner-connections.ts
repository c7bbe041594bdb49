import { LearnerProgress } from '../consensus/zab/learner-progress.ts'
import type { HistoryToSend, LearnerEvent, Outgoing } from '../consensus/zab/learners.ts'
import type { Host } from '../ports.ts'
import type { Database } from '../state/database.ts'
import { drained, sendHistory } from './links/pace.ts'
import type { PacketLink } from './links/packet-link.ts'
import { sendSnapshot } from './links/snapshot-stream.ts'

export interface LearnerConnectionsParts {
  readonly db: Pick<Database, 'snapshotSource'>
  readonly host: Host
  /** Takes the events of the connections. */
  readonly take: (event: LearnerEvent) => void
}

/** The connections of the learners that this server brings up. */
export class LearnerConnections {
  private readonly links = new Map<LearnerProgress, PacketLink>()
  private readonly parts: LearnerConnectionsParts
  /** How long a learner may accept no bytes of what it is sent. */
  private readonly limitMs: number
  private readonly sliceBytes: number | undefined

  constructor(
    parts: LearnerConnectionsParts,
    options: { readonly limitMs: number; readonly sliceBytes?: number | undefined },
  ) {
    this.parts = parts
    this.limitMs = options.limitMs
    this.sliceBytes = options.sliceBytes
  }

  accept(link: PacketLink): void {
    const { take, host } = this.parts
    const learner = new LearnerProgress(link, host.wallMs())
    this.links.set(learner, link)
    link.onClosed = () => {
      this.links.delete(learner)
      take({ type: 'lost', learner })
    }
    take({ type: 'connected', learner })
    link.onPacket(
      (packet) => {
        take({ type: 'packet', learner, packet })
        if (!learner.isListenedTo) link.pause()
      },
      () => take({ type: 'packetsRead' }),
    )
  }

  send(packets: readonly Outgoing[]): void {
    for (const { to, packet } of packets) this.links.get(to)?.sendPacket(packet)
  }

  sendHistories(histories: readonly HistoryToSend[]): void {
    const { take } = this.parts
    for (const history of histories) {
      const { to: learner } = history
      this.sendHistory(history).then(
        () => take({ type: 'historySent', learner }),
        (reason: Error) => take({ type: 'failed', learner, reason }),
      )
    }
  }

  /** Captures everything that must not change before it waits for anything. */
  private async sendHistory({ to, plan, zxid }: HistoryToSend): Promise<void> {
    const link = this.links.get(to)
    if (link === undefined) return
    const pause = (): Promise<void> => drained(this.parts.host, this.limitMs, link)
    if (plan.kind === 'snap') {
      const source = this.parts.db.snapshotSource()
      link.send('snap', zxid)
      await sendSnapshot(link, source, pause, this.sliceBytes)
    } else {
      link.send(plan.kind, plan.zxid)
      await sendHistory(link, plan.txns, pause, this.sliceBytes)
    }
  }

  /** Reads from the learners again, beginning with what has arrived meanwhile. */
  listen(learners: readonly LearnerProgress[]): void {
    for (const learner of learners) this.links.get(learner)?.resume()
  }

  close(learners: readonly LearnerProgress[]): void {
    for (const learner of learners) this.links.get(learner)?.close()
  }

  /** Resets the packet counts of observers. */
  resetObserverCounts(): void {
    for (const [learner, link] of this.links) {
      if (learner.isObserver) learner.requests = link.packetsSent = link.packetsReceived = 0
    }
  }

  end(): void {
    for (const link of this.links.values()) link.close()
  }
}
