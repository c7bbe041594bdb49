/**
 * Compares what a server says about its disk with what a power failure at that moment would leave.
 */
import type { Database, MemoryDisk } from '@zabra/core'
import { decodeText, packetTypes, Reader, type QuorumPacket } from '@zabra/protocol'
import type { SimServer } from '../cluster/server.ts'
import type { EnsembleRecord } from './ensemble-record.ts'
import { counterOf, epochOf, hex } from './zxids.ts'
import { recoveryOf, type Recorder } from './recorder.ts'

const noBytes = new Uint8Array(0)

interface EpochFiles {
  readonly accepted: bigint | undefined
  readonly current: bigint | undefined
}

export class Promises {
  private readonly recorder: Recorder
  private readonly ensemble: EnsembleRecord
  /** The durable state at the last check. */
  private readonly known = new Map<string, EpochFiles>()

  private readonly claims = new Set<string>()
  private readonly lastClaims = new Map<string, bigint>()

  constructor(recorder: Recorder, ensemble: EnsembleRecord) {
    this.recorder = recorder
    this.ensemble = ensemble
  }

  /** The disk has changed an epoch file, or the names in its directory. */
  epochFilesTouched(server: SimServer): void {
    const { files } = server.disk
    this.checkOrder(server.name, epochFilesOn(files, server), 'cached')
    const durable = durableEpochs(server)
    this.checkOrder(server.name, durable, 'durable')
    const before = this.known.get(server.name)
    this.known.set(server.name, durable)
    if (isLess(durable.accepted, before?.accepted) || isLess(durable.current, before?.current)) {
      this.recorder.violation(
        `the epochs of ${server.name} go back from ${show(before)} to ${show(durable)}`,
      )
    }
    if (durable.current !== undefined && durable.current !== before?.current) {
      const left = this.recorder.recoverAside(server, leftBy(server))
      const zxid = left.then((recovery) => recovery?.zxid)
      this.ensemble.entered(server.name, durable.current, zxid)
    }
  }

  /** The disk was replaced by an empty one. */
  forget(server: SimServer): void {
    this.known.delete(server.name)
  }

  private checkOrder(name: string, epochs: EpochFiles, which: string): void {
    if (isLess(epochs.accepted, epochs.current)) {
      this.recorder.violation(`the ${which} epochs of ${name} are out of order: ${show(epochs)}`)
    }
  }

  /** A promise or an acknowledgement is about to be sent. */
  said(server: SimServer, { type, zxid, data }: QuorumPacket, epoch: bigint): void {
    const { recorder, ensemble } = this
    if (type === packetTypes.ackEpoch) {
      const { accepted } = durableEpochs(server)
      if (accepted === undefined || accepted < epoch) {
        recorder.violation(`${server.name} promises epoch ${epoch} and has ${accepted} on disk`)
      }
      this.claimsHistory(server, epoch, zxid, new Reader(data ?? noBytes))
    } else if (type === packetTypes.ack && counterOf(zxid) === 0n) {
      const { current } = durableEpochs(server)
      if (current === undefined || current < epochOf(zxid)) {
        recorder.violation(`${server.name} is in epoch ${epoch} and has ${current} on disk`)
      }
    } else if (type === packetTypes.ack && ensemble.durableOf(server.name) < zxid) {
      const durable = ensemble.durableOf(server.name)
      recorder.violation(`${server.name} acknowledges ${hex(zxid)} and has ${hex(durable)} on disk`)
    }
  }

  /** Checks the history that it claims, unless it has promised the epoch before. */
  private claimsHistory(server: SimServer, epoch: bigint, zxid: bigint, data: Reader): void {
    const { recorder, ensemble } = this
    const current = data.remaining < 4 ? -1 : data.int()
    if (zxid >= 0n) {
      if (current >= 0) ensemble.claimed(server.name, epoch, { epoch: BigInt(current), zxid })
      return
    }
    recorder.count('learners that ask for everything')
    if (current >= 0) {
      // It would count as having no more than the leader.
      recorder.violation(`${server.name} promises epoch ${epoch} and hides what it has`)
    } else if (data.remaining >= 12) {
      const held = { epoch: BigInt(data.int()), zxid: data.long() }
      ensemble.claimed(server.name, epoch, held)
    }
  }

  /**
   * Followers report their votes with the new epoch, and it may receive them in its next election.
   */
  leads(server: string, epoch: bigint): void {
    const zxid = this.lastClaims.get(server)
    if (zxid !== undefined) this.claims.add(claimOf({ name: server }, zxid, epoch))
  }

  /** It may ask for votes only with what it held when it began to look, or earlier. */
  voted(server: SimServer, zxid: bigint, epoch: bigint): void {
    if (this.claims.has(claimOf(server, zxid, epoch))) return
    // A leader that was outvoted twice has no say, whatever its log holds.
    if (zxid === -1n && this.ensemble.treesMayDiffer) return
    this.recorder.violation(`${server.name} claims ${hex(zxid)} in epoch ${epoch}, and lies`)
  }

  /** It must vote with what a restart would read. */
  async votes(server: SimServer, db: Database, currentEpoch: bigint): Promise<void> {
    const memory = recoveryOf(db)
    this.claims.add(claimOf(server, memory.zxid, currentEpoch))
    // A server in an epoch has everything before it, also if it was away.
    this.claims.add(claimOf(server, currentEpoch << 32n, currentEpoch))
    this.lastClaims.set(server.name, memory.zxid)
    const disk = leftBy(server)
    const { current } = epochFilesOn(disk, server)
    const left = await this.recorder.recoverAside(server, disk)
    if (left === undefined) return
    // The start of an epoch is not a transaction, and no log contains it.
    const isSameZxid =
      left.zxid === memory.zxid || (counterOf(memory.zxid) === 0n && left.zxid < memory.zxid)
    const isSame =
      isSameZxid &&
      (left.digest === memory.digest || this.ensemble.treesMayDiffer) &&
      left.sessions === memory.sessions &&
      current === currentEpoch
    this.recorder.count('votes compared with the disk')
    if (isSame) return
    this.recorder.violation(
      `${server.name} votes with ${hex(memory.zxid)} in epoch ${currentEpoch}, its disk has ${hex(left.zxid)} in ${current}`,
    )
  }
}

/** The state that a crash would leave now. If logs are not synced, only processes crash, not machines. */
function leftBy({ disk, options }: SimServer): MemoryDisk {
  return options.forceSync ? disk.files.afterCrash() : disk.files.copy()
}

/** The epoch files that would remain if power failed now. */
export function durableEpochs(server: SimServer): EpochFiles {
  const { files } = server.disk
  return epochsBy(server, (path) => files.durableContent(path))
}

function epochFilesOn(disk: MemoryDisk, server: SimServer): EpochFiles {
  return epochsBy(server, (path) => (disk.has(path) ? disk.content(path) : undefined))
}

function epochsBy(
  { options }: SimServer,
  contentOf: (path: string) => Uint8Array | undefined,
): EpochFiles {
  const { snapshotDir } = options.journal
  const read = (name: string): bigint | undefined => {
    const bytes = contentOf(`${snapshotDir}/${name}`)
    if (bytes === undefined) return undefined
    try {
      return BigInt(decodeText(bytes))
    } catch {
      return undefined
    }
  }
  return { accepted: read('acceptedEpoch'), current: read('currentEpoch') }
}

function claimOf(server: { readonly name: string }, zxid: bigint, epoch: bigint): string {
  return `${server.name}: ${zxid} of ${epoch}`
}

function isLess(one: bigint | undefined, other: bigint | undefined): boolean {
  return other !== undefined && (one === undefined || one < other)
}

function show(epochs: EpochFiles | undefined): string {
  return `${epochs?.current} current, ${epochs?.accepted} accepted`
}
