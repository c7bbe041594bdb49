/** What the servers of an ensemble did together: who led, and what became of what was proposed. */
import type { Epochs, ZabEvent } from '@zabra/core'
import type { Recorder } from './recorder.ts'

/** An epoch that was established, and where the history ended that it was built upon. */
interface Reign {
  readonly leader: string
  readonly base: bigint
}

export class EnsembleRecord {
  /** Everything that some server applied as committed, and who did so first. */
  readonly delivered = new Map<bigint, string>()
  private readonly reigns = new Map<bigint, Reign>()
  private readonly recorder: Recorder
  /** What each server delivered last in its present role. */
  private readonly last = new Map<string, bigint>()
  /** Where the history of a server ended that was elected. */
  private readonly bases = new Map<string, bigint>()
  private readonly known = new Map<string, { accepted: bigint; current: bigint }>()

  constructor(recorder: Recorder) {
    this.recorder = recorder
  }

  /** A life begins: its promises are in order, and none of an earlier life is forgotten. */
  epochs(server: string, { accepted, current }: Epochs, lastZxid: bigint): void {
    const logged = epochOf(lastZxid)
    if (logged > current || current > accepted) {
      this.recorder.violation(
        `${server} starts with epochs ${logged} logged, ${current} current, ${accepted} accepted`,
      )
    }
    const before = this.known.get(server)
    if (before !== undefined && (accepted < before.accepted || current < before.current)) {
      this.recorder.violation(
        `${server} starts with epochs ${current} and ${accepted} after ${before.current} and ${before.accepted}`,
      )
    }
    this.known.set(server, { accepted, current })
  }

  zab(server: string, event: ZabEvent, lastZxid: bigint): void {
    if (event.type === 'elected') this.bases.set(server, lastZxid)
    if (event.type === 'looking') this.last.delete(server)
    if (event.type !== 'leading') return
    const { epoch } = event
    const other = this.reigns.get(epoch)
    if (other !== undefined) {
      this.recorder.violation(`${server} and ${other.leader} both lead epoch ${epoch}`)
    }
    this.reigns.set(epoch, { leader: server, base: this.bases.get(server) ?? 0n })
    this.recorder.count('epochs')
  }

  /** One zxid is one transaction, committed or not, on whatever server and at whatever time. */
  applied(server: string, isCommitted: boolean, zxid: bigint, payload: Uint8Array): void {
    this.recorder.note(zxid, payload)
    if (!isCommitted) return
    const last = this.last.get(server)
    if (last !== undefined && !follows(last, zxid)) {
      this.recorder.violation(`${server} delivers ${hex(zxid)} behind ${hex(last)}`)
    }
    this.last.set(server, zxid)
    if (!this.delivered.has(zxid)) this.delivered.set(zxid, server)
  }

  /**
   * The one history that ends at this zxid: within an epoch counters have no gaps, and each epoch
   * goes on from where its leader's history ended.
   */
  historyUpTo(last: bigint): Map<bigint, Uint8Array> {
    const zxids: bigint[] = []
    for (let end = last; end > 0n;) {
      const epoch = epochOf(end)
      for (let zxid = end; counterOf(zxid) > 0n; zxid--) zxids.push(zxid)
      const reign = this.reigns.get(epoch)
      if (reign === undefined || epochOf(reign.base) >= epoch) {
        this.recorder.violation(`nobody led epoch ${epoch}, and yet ${hex(end)} is in the history`)
        break
      }
      end = reign.base
    }
    const history = new Map<bigint, Uint8Array>()
    for (const zxid of zxids.toReversed()) {
      const payload = this.recorder.log.get(zxid)
      if (payload !== undefined) history.set(zxid, payload)
      else this.recorder.violation(`nobody ever held transaction ${hex(zxid)} of the history`)
    }
    return history
  }

  /** What was once delivered stays: no leader's history lacks it. */
  checkNothingDeliveredIsLost(history: ReadonlyMap<bigint, Uint8Array>): void {
    for (const [zxid, server] of this.delivered) {
      if (history.has(zxid)) continue
      this.recorder.violation(`${server} delivered ${hex(zxid)}, which is not in the history`)
    }
  }
}

export function epochOf(zxid: bigint): bigint {
  return zxid >> 32n
}

export function counterOf(zxid: bigint): bigint {
  return zxid & 0xffff_ffffn
}

function follows(zxid: bigint, next: bigint): boolean {
  return next === zxid + 1n || (epochOf(next) > epochOf(zxid) && counterOf(next) === 1n)
}

function hex(zxid: bigint): string {
  return `0x${zxid.toString(16)}`
}
