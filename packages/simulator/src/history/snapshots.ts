/**
 * Whatever a finished snapshot contains beyond its name must be committed: a server has delivered
 * it. Its name alone would not tell later that it must be removed when a log is truncated.
 */
import { snapshotReach } from '@zabra/core'
import type { SimServer } from '../cluster/server.ts'
import type { EnsembleRecord } from './ensemble-record.ts'
import type { Recorder } from './recorder.ts'
import { counterOf, hex } from './zxids.ts'

const unfinished = /^(?<directory>.*)\/new\.(?<name>snapshot\.(?<zxid>\w+)(?:\.\w+)?)$/

export class Snapshots {
  private readonly recorder: Recorder
  private readonly ensemble: EnsembleRecord

  constructor(recorder: Recorder, ensemble: EnsembleRecord) {
    this.recorder = recorder
    this.ensemble = ensemble
  }

  /** A snapshot got its final name; `from` was its temporary name. */
  async finished(server: SimServer, from: string): Promise<void> {
    const { directory, name, zxid: digits } = unfinished.exec(from)?.groups ?? {}
    if (directory === undefined || name === undefined) return
    const zxid = BigInt(`0x${digits}`)
    const reach = await snapshotReach(server.disk.files, directory, { name, bytes: 0, zxid })
    if (reach === undefined || reach.zxid <= zxid || counterOf(reach.zxid) === 0n) return
    this.recorder.count('snapshots that contain what came later')
    if (this.ensemble.delivered.has(reach.zxid)) return
    this.recorder.violation(
      `${server.name} finishes ${name} with ${hex(reach.zxid)} in it, which nobody delivered`,
    )
  }
}
